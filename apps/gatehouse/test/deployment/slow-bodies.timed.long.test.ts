import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { startApart } from '../support/apart.ts'
import { demoToken } from '../support/demo-client.ts'

const slow = 200
const begun = ['POST /token HTTP/1.1', 'Host: localhost', 'Content-Type: application/x-www-form-urlencoded']
const sockets: Socket[] = []
after(() => {
  for (const socket of sockets) socket.destroy()
})

/** Begins a token request whose body does not come; resolves once a service of ours waits for it. */
async function beginSlowly(url: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  sockets.push(socket)
  socket.write(`${[...begun, 'Expect: 100-continue', 'Content-Length: 100'].join('\r\n')}\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  assert.match(answer.toString(), /^HTTP\/1\.1 100 /)
  socket.write('grant_type=')
}

test('token requests whose bodies do not come keep no others from a service elsewhere', async () => {
  const { gateway, identity, programs } = await startApart()
  for (let count = 0; count < slow; count++) await beginSlowly(gateway.url)
  const started = performance.now()
  assert.match(await demoToken({ stdout: identity.stdout, url: gateway.url }, 'read:users'), /^ey/)
  assert.ok(performance.now() - started < 5_000)
  for (const socket of sockets) socket.destroy()
  for (const program of programs) assert.equal((await program.stop()).code, 0)
})
