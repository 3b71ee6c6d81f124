import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requiresStartTls } from '../../src/smtp/starttls.ts'
import { startMailServer } from '../support/mail-server.ts'
import { build, message, sendOne, type TestEnd } from '../support/setup.ts'

/** Sends a mail over a connection from which somebody has removed STARTTLS. Returns its result and what was read. */
async function send(t: TestEnd, urlOf: (port: string) => string, ehlo = '250-fake\r\n250 AUTH PLAIN') {
  const lines: string[] = []
  const server = await startMailServer(t, (line, socket) => {
    lines.push(line)
    if (/^EHLO/.test(line)) socket.write(`${ehlo}\r\n`)
    else if (/^AUTH/.test(line)) socket.write('235 fine\r\n')
    else if (line === 'STARTTLS') socket.write('502 unknown\r\n')
    else return undefined
    return true
  })
  const provider = build({ provider: 'smtp', url: urlOf(new URL(server.url).port) })
  t.after(() => provider.close?.() ?? Promise.resolve())
  const mail = message({ channel: 'email', target: { id: 'email', address: 'a@example.com' } })
  return { result: await sendOne(provider, mail), lines }
}

// An address of this machine that is none of the loopback addresses.
const host = '0.0.0.0'

for (const [what, ehlo, reply] of [
  ['without STARTTLS', undefined, /502 unknown/],
  ['without extensions', '500 unknown', /500 unknown/],
] as const)
  test(`a server ${what} gets neither password nor mail, and the reason says what to do`, async (t) => {
    const { result, lines } = await send(t, (port) => `smtp://user:secret@${host}:${port}`, ehlo)
    assert.equal(result.kind, 'misconfigured')
    const reason = result.kind === 'misconfigured' ? result.reason : ''
    assert.match(reason, /STARTTLS.*password.*smtps:\/\/.*\?requireTLS=false/)
    assert.match(reason, reply)
    assert.doesNotMatch(lines.join('\n'), /^(?:AUTH|MAIL)/m)
  })

for (const [what, urlOf] of [
  ['without a user', (port) => `smtp://${host}:${port}`],
  ['on this machine', (port) => `smtp://user:secret@127.0.0.1:${port}`],
  ['whose URL has requireTLS=false', (port) => `smtp://user:secret@${host}:${port}?requireTLS=false`],
  ['whose URL has ignoreTLS=true', (port) => `smtp://user:secret@${host}:${port}?ignoreTLS=true`],
] as const satisfies ReadonlyArray<readonly [string, (port: string) => string]>)
  test(`a server without STARTTLS gets the mail: one ${what}`, async (t) => {
    const { result, lines } = await send(t, urlOf)
    assert.equal(result.kind, 'accepted')
    assert.ok(!lines.includes('STARTTLS'))
  })

test('STARTTLS is required where a password leaves the machine, unless the URL says otherwise', () => {
  for (const [url, expected] of [
    ['smtp://user:secret@mail.example.com:587', true],
    ['smtp://user:secret@mailpit', true],
    ['smtp://user@10.0.0.5', true],
    ['smtp://:secret@10.0.0.5', true],
    ['smtp://user:secret@mail.example.com?requiretls=false', true],
    ['smtp://user:secret@127.0.0.1.example.com', true],
    ['smtp://user:secret@mail.example.com?requireTLS=false', false],
    ['smtp://user:secret@mail.example.com?tls.minVersion=TLSv1.3&ignoreTLS=true', false],
    ['smtps://user:secret@mail.example.com', false],
    ['smtp://relay:25', false],
    ['smtp://user:secret@localhost:1025', false],
    ['smtp://user:secret@LOCALHOST', false],
    ['smtp://user:secret@127.0.0.1', false],
    ['smtp://user:secret@127.8.0.1', false],
    ['smtp://user:secret@[::1]:25', false],
  ] as const)
    assert.equal(requiresStartTls(url), expected, url)
})
