import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { startSmtp } from '@gatehouse/fakes'
import { type MailServer, type Reply, startMailServer } from '../support/mail-server.ts'
import { build, message, sendOne, type TestEnd } from '../support/setup.ts'

const mailTo = (name: string) =>
  message({ channel: 'email', target: { id: 'email', address: `${name}@example.com` }, id: `${name}-1` })

/** A provider with one connection to a mail server. */
async function setup(t: TestEnd, reply: Reply, declared: Record<string, unknown> = {}) {
  const server = await startMailServer(t, reply)
  return { server, provider: provide(t, server, declared) }
}

function provide(t: TestEnd, { url }: Pick<MailServer, 'url'>, declared: Record<string, unknown> = {}) {
  const provider = build({ provider: 'smtp', url, connections: 1, ...declared })
  t.after(() => provider.close?.() ?? Promise.resolve())
  return provider
}

const drip = (socket: Socket): true => {
  const timer = setInterval(() => socket.write('250-still busy\r\n'), 10)
  socket.on('close', () => clearInterval(timer))
  return true
}

test('a mail given up while it waits for a connection is transient and is never sent', {
  timeout: 10_000,
}, async (t) => {
  const inProgress = Promise.withResolvers<Socket>()
  const { server, provider } = await setup(t, (line, socket, to) => {
    if (line !== '.' || to !== 'a@example.com') return undefined
    inProgress.resolve(socket)
    return true
  })
  const first = sendOne(provider, mailTo('a'))
  const socket = await inProgress.promise
  const abandoned = new AbortController()
  const second = provider.send([mailTo('b')], abandoned.signal)
  abandoned.abort(new Error('given up'))
  socket.write('250 fine\r\n')
  assert.equal((await first).kind, 'accepted')
  assert.equal((await second)[0]?.kind, 'transient')
  assert.equal((await sendOne(provider, mailTo('c'))).kind, 'accepted')
  assert.deepEqual(server.received, ['a@example.com', 'c@example.com'])
})

test('a mail given up while the server drips its reply frees the connection', { timeout: 10_000 }, async (t) => {
  for (const [command, kind] of [
    [/^EHLO/, 'transient'],
    [/^MAIL FROM/, 'transient'],
    [/^\.$/, 'ambiguous'],
  ] as const) {
    const abandoned = new AbortController()
    const { server, provider } = await setup(t, (line, socket) => {
      if (abandoned.signal.aborted || !command.test(line)) return undefined
      setImmediate(() => abandoned.abort(new Error('given up')))
      return drip(socket)
    })
    const [result] = await provider.send([mailTo('a')], abandoned.signal)
    assert.equal(result?.kind, kind, String(command))
    assert.equal((await sendOne(provider, mailTo('b'))).kind, 'accepted', String(command))
    assert.equal(server.connections(), 2)
  }
})

test('mails are given up before the maximum duration of a call', { timeout: 10_000 }, async (t) => {
  const dripping = Promise.withResolvers<void>()
  const { provider } = await setup(
    t,
    (line, socket) => {
      if (line !== '.') return undefined
      dripping.resolve()
      return drip(socket)
    },
    { timeout_seconds: 5 },
  )
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const results = [sendOne(provider, mailTo('a')), sendOne(provider, mailTo('b'))]
  await dripping.promise
  t.mock.timers.tick(provider.timeoutMs - 1)
  const [first, second] = await Promise.all(results)
  assert.deepEqual([first?.kind, second?.kind], ['ambiguous', 'transient'])
  assert.match(first && 'reason' in first ? first.reason : '', /^it took longer than \d+ ms$/)
})

const dkim = {
  domain: 'example.com',
  selector: 'one',
  private_key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
}

for (const [signed, declared] of [
  ['', {}],
  [', signed too', { dkim }],
] as const)
  test(`a mail is transient whose connection was dead, with no other to be had${signed}`, {
    timeout: 10_000,
  }, async (t) => {
    const { server, provider } = await setup(
      t,
      (line, socket, to) => {
        if (!line.startsWith('MAIL FROM') || to !== 'a@example.com') return undefined
        server.stop()
        socket.resetAndDestroy()
        return true
      },
      declared,
    )
    assert.equal((await sendOne(provider, mailTo('a'))).kind, 'accepted')
    const result = await sendOne(provider, mailTo('b'))
    assert.equal(result.kind, 'transient', JSON.stringify(result))
    assert.deepEqual(server.received, ['a@example.com'])
  })

test('a server that never greets, or never gets to a mail, is transient', { timeout: 10_000 }, async (t) => {
  for (const command of ['CONNECT', 'EHLO']) {
    const { server, provider } = await setup(t, (line) => line.startsWith(command) || undefined, {
      timeout_seconds: 0.2,
    })
    const result = await sendOne(provider, mailTo('a'))
    assert.equal(result.kind, 'transient', `${command}: ${JSON.stringify(result)}`)
    assert.deepEqual(server.received, [])
  }
})

test('a certificate that cannot be verified is misconfigured, as is a server without TLS', async (t) => {
  for (const tls of ['immediate', 'starttls'] as const) {
    const fake = await startSmtp({ tls })
    t.after(() => fake.stop())
    const result = await sendOne(provide(t, fake), mailTo('a'))
    assert.equal(result.kind, 'misconfigured', `${tls}: ${JSON.stringify(result)}`)
    assert.match('reason' in result ? result.reason : '', /self-signed certificate/)
    assert.equal(fake.requests.length, 0)
  }
  const plain = await startSmtp()
  t.after(() => plain.stop())
  const result = await sendOne(provide(t, { url: plain.url.replace('smtp:', 'smtps:') }), mailTo('a'))
  assert.equal(result.kind, 'misconfigured', JSON.stringify(result))
})
