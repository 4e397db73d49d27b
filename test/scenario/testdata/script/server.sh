#!/bin/sh
# The program of the build: Node.js with the game beside it.
exec node "$(dirname "$0")/game.mjs"
