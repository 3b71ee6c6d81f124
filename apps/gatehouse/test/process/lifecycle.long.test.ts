import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { started } from '../support/program.ts'

test('SIGTERM finishes the request under way and exits 0', async () => {
  const program = await started()
  const { hostname, port } = new URL(program.url)
  const socket = connect(Number(port), hostname)
  let answer = ''
  socket.setEncoding('utf8').on('data', (text) => {
    answer += text
  })
  const body = 'grant_type=client_credentials&client_id=nobody&client_secret=nothing'
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await new Promise<void>((sent) =>
    socket.write(
      `POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
      () => sent(),
    ),
  )
  await fetch(`${program.url}/healthz`)
  program.process.kill('SIGTERM')
  socket.write(body.slice(10))
  const { code } = await program.ended
  await closed
  assert.match(answer, /^HTTP\/1\.1 401 /)
  assert.equal(code, 0)
})

test('SIGTERM exits 0 within ten seconds despite an open request; a second signal ends at once', async () => {
  for (const [signals, expected] of [
    [1, 0],
    [2, 143],
  ] as const) {
    const program = await started()
    const { hostname, port } = new URL(program.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    await new Promise<void>((sent) =>
      socket.write('POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf', () => sent()),
    )
    await fetch(`${program.url}/healthz`)
    program.process.kill('SIGTERM')
    await refusesConnections(Number(port))
    if (signals === 2) program.process.kill('SIGTERM')
    const { code, stdout } = await program.ended
    socket.destroy()
    assert.equal(code, expected)
    assert.doesNotMatch(stdout, /what is still held/, 'all else is let go of in order')
  }
})

/** Resolves once nothing listens any more: the stop is under way. */
async function refusesConnections(port: number): Promise<void> {
  for (;;) {
    const refused = await new Promise<boolean>((resolve) => {
      const probe = connect(port, '127.0.0.1')
      probe.once('connect', () => {
        probe.destroy()
        resolve(false)
      })
      probe.once('error', () => resolve(true))
    })
    if (refused) return
  }
}
