import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Log, silentLog } from '@gatehouse/kit'
import { findPasskeyObstacle, relyingPartyOf } from '../../src/model/factors/relying-party.ts'
import { TestBrowser } from '../support/journey.ts'
import { setup } from '../support/setup.ts'

for (const [issuer, id, origin] of [
  ['https://auth.example.com', 'auth.example.com', 'https://auth.example.com'],
  ['https://auth.example.com:8443/base', 'auth.example.com', 'https://auth.example.com:8443'],
  ['http://localhost:8080', 'localhost', 'http://localhost:8080'],
  ['http://gatehouse.localhost', 'gatehouse.localhost', 'http://gatehouse.localhost'],
  ['https://bücher.example', 'xn--bcher-kva.example', 'https://xn--bcher-kva.example'],
] as const) {
  test(`the issuer ${issuer} has passkeys for ${id}`, () => {
    assert.deepEqual(relyingPartyOf(issuer), { id, origin })
    assert.equal(findPasskeyObstacle(issuer), undefined)
  })
}

for (const [issuer, obstacle] of [
  ['http://127.0.0.1:8080', /IP address \(127\.0\.0\.1\)/],
  ['https://192.0.2.7', /IP address \(192\.0\.2\.7\)/],
  ['https://[2001:db8::7]', /IP address \(\[2001:db8::7\]\)/],
  ['http://auth.example.com', /only with https/],
  ['http://notlocalhost', /only with https/],
] as const) {
  test(`the issuer ${issuer} has no passkeys and says why`, async () => {
    const warnings: string[] = []
    const warn = (_facts: object, text: string) => warnings.push(text)
    const log = { ...silentLog, warn } as unknown as Log
    const running = await setup({ issuer, log })
    const { text } = await new TestBrowser(running).get('/account')
    assert.doesNotMatch(text, /passkey|webauthn/)
    for (const path of ['/account/passkeys', '/account/passkeys/new', '/pages/passkeys.js'])
      assert.equal((await running.http.inject(path)).statusCode, 404, path)
    await running.close()
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', obstacle)
    await assert.rejects(setup({ issuer, features: { passkeys: true } }), obstacle)
  })
}

test('passkeys that are switched off leave the pages as they were, and the log too', async () => {
  const warnings: string[] = []
  const log = { ...silentLog, warn: (_facts: object, text: string) => warnings.push(text) } as unknown as Log
  const running = await setup({ issuer: 'https://127.0.0.1', features: { passkeys: false }, log })
  const { headers } = await new TestBrowser(running).get('/account')
  assert.doesNotMatch(String(headers['content-security-policy']), /script-src|connect-src/)
  await running.close()
  assert.deepEqual(warnings, [])
})
