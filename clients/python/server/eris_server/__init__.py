"""The server and the command line `eris` as a wheel: launch.py starts the program, demo/ is `eris demo`."""
