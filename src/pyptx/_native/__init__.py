"""The native libraries: the emulator core and the XLA FFI handlers. `loader` finds them."""
