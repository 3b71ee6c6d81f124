import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import pg from 'pg'
import { trustedConnections } from '../../src/database/connections.ts'
import { isUnavailable } from '../../src/database/error.ts'

/** A message of PostgreSQL's protocol, as a server sends it. */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

const authenticated = message('R', Buffer.alloc(4))
const ready = message('Z', Buffer.from('I'))
const terminated = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'))

test('a connection that is terminated as it opens fails the statement, and not the process', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(Buffer.concat([authenticated, ready, terminated])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'gatehouse', database: 'gatehouse', pipeline: true })
  t.after(async () => {
    await pool.end()
    server.close()
  })
  pool.on('error', () => {})
  const connections = trustedConnections(pool)
  for (let attempt = 0; attempt < 3; attempt++)
    await assert.rejects(
      connections.use((client) => client.query('SELECT 1')),
      isUnavailable,
    )
  assert.equal(pool.totalCount, 0, 'none is kept')
})
