import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sharedSecrets } from '../support/apart.ts'
import { type Ended, launch, type Program, started } from '../support/program.ts'

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

test('a first start that gets SIGTERM once it made secrets shows them, and exits 0', async () => {
  const program = await launch({ env: { LOG_LEVEL: 'info' } })
  await program.printed('tiers and policies of a stored version apply')
  const { code, signal, stdout } = await program.stop()
  assert.deepEqual({ code, signal }, { code: 0, signal: null })
  assert.match(stdout, /shown once, keep them:.* user +alice +password \S{16,}/s)
})

test('half a request for metrics does not hold up an orderly stop', async () => {
  const program = await started({ metrics: true })
  const { hostname, port } = new URL(program.metricsUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await new Promise<void>((sent) => socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n', () => sent()))
  await fetch(program.metricsUrl)
  const { code, stdout } = await program.stop()
  socket.destroy()
  assert.equal(code, 0)
  assert.doesNotMatch(stdout, /what is still held/)
})

test('no call of a provider begins once SIGTERM came, while a request under way is waited for', async (context) => {
  const provider = await slowServer(context, '/sms')
  const program = await startedSending(context, `${provider.url}/sms`)
  const send = await sender(program)
  for (const user of ['u1', 'u2']) assert.equal(await send(user), 202)
  const { code, stdout } = await stopDuringCall(program, await provider.called)
  assert.deepEqual({ calls: provider.calls(), code }, { calls: 1, code: 0 })
  assert.doesNotMatch(stdout, /what is still held/)
})

test('no mail of identity begins once SIGTERM came, while a request under way is waited for', async (context) => {
  const notify = await slowServer(context, '/v1/reserved-mails')
  const program = await startedMailing(context, notify.url)
  for (const user of ['u1', 'u2']) await forgetPassword(program, `${user}@example.com`)
  const { code, stdout } = await stopDuringCall(program, await notify.called)
  assert.deepEqual({ calls: notify.calls(), code }, { calls: 1, code: 0 })
  assert.doesNotMatch(stdout, /what is still held/)
})

/** Stops the program while a call of it and half a request are open, then answers the call. */
async function stopDuringCall(program: Program, answer: () => void): Promise<Ended> {
  const { hostname, port } = new URL(program.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await new Promise<void>((sent) =>
    socket.write('POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf', () => sent()),
  )
  await fetch(`${program.url}/healthz`)
  program.process.kill('SIGTERM')
  await refusesConnections(Number(port))
  answer()
  const ended = await program.ended
  socket.destroy()
  return ended
}

/** A server whose first call of a path waits for its answer, and no other does. */
async function slowServer(context: TestContext, path: string) {
  const first = Promise.withResolvers<() => void>()
  let calls = 0
  const accept = (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"taken"}')
  const server = createServer((request, response) => {
    request.resume()
    if (request.url === path && ++calls === 1) first.resolve(() => accept(response))
    else accept(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, called: first.promise, calls: () => calls }
}

/** The program that sends one SMS at a time, by a provider at this address. */
function startedSending(context: TestContext, url: string): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'stopping-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const recipients = ['u1', 'u2'].map((id, n) => `  - { user_id: ${id}, phone_number: '+491511234000${n}' }\n`)
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const file = `event_types:
  - { event: code.sent, channels: [sms] }
recipients:
${recipients.join('')}channels: { email: off }
notify: { concurrency: { sms: 1 } }
providers:
  sms:
    - { provider: http, url: '${url}', secret: '${secret}' }
`
  writeFileSync(join(folder, 'gatehouse.yaml'), file)
  return started({ cwd: folder, env: { SERVICES: 'notify' } })
}

/** Identity by itself, with two users, whose mails another process sends. */
function startedMailing(context: TestContext, url: string): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'stopping-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const user = (id: string) =>
    `  - { id: ${id}, email: ${id}@example.com, email_verified: true, password: correct horse battery }\n`
  writeFileSync(join(folder, 'gatehouse.yaml'), `users:\n${user('u1')}${user('u2')}`)
  return started({ cwd: folder, env: { ...sharedSecrets, SERVICES: 'identity', NOTIFY_URL: url } })
}

/** Asks for a mail to choose another password, as the page does. */
async function forgetPassword({ url }: Program, email: string): Promise<void> {
  const page = await fetch(`${url}/password/forgot`)
  const cookie = page.headers
    .getSetCookie()
    .map((value) => value.replace(/;.*/, ''))
    .join('; ')
  const hidden = [...(await page.text()).matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  const body = new URLSearchParams({ ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])), email })
  const headers = { cookie, origin: url }
  const { status } = await fetch(`${url}/password/forgot`, { method: 'POST', body, headers, redirect: 'manual' })
  assert.ok(status < 400, `${status}`)
}

/** Notifies a user, by the key of the start; resolves with the status. */
async function sender(program: Program): Promise<(user_id: string) => Promise<number>> {
  const key = /dev_[\w-]+/.exec(program.stdout())?.[0] ?? ''
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const call = (method: string, path: string, body: object) =>
    fetch(`${program.url}${path}`, { method, headers, body: JSON.stringify(body) })
  await call('PUT', '/v1/templates/code.sent/sms/en', { body: 'Your code.' })
  return async (user_id) => (await call('POST', '/v1/notify', { event: 'code.sent', user_id, data: {} })).status
}

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
