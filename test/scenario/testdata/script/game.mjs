// A script's game without AWS's runtime: one game session is one run of this program.
import dgram from 'node:dgram'

const session = { id: process.env.GAME_SESSION_ID, data: process.env.GAME_SESSION_DATA, most: Number(process.env.GAME_MAX_PLAYERS) }
const players = new Set()
const socket = dgram.createSocket('udp4')

socket.on('message', (message, from) => {
  const player = `${from.address}:${from.port}`
  const text = message.toString()
  if (text === 'end') { // the game session ends with the program
    socket.close()
    return
  }
  if (!players.has(player) && players.size >= session.most) {
    socket.send('full', from.port, from.address)
    return
  }
  players.add(player)
  socket.send(`${text} to ${players.size} of ${session.most} in ${session.data}`, from.port, from.address)
})

socket.bind(Number(process.env.GAME_PORT))
