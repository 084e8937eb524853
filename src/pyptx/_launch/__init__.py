"""How a kernel is launched: plans as plain data, and the call that a runtime takes."""
