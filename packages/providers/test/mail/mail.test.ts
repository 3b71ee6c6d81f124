import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHttp, startSendgrid, startSes } from '@gatehouse/fakes'
import type { Provider } from '../../src/index.ts'
import { build, message, sendOne } from '../support/setup.ts'

/** What one program reads as an address and another as two, or as somebody else's. */
const crafted = [
  'attacker@evil.com,x.corp.com',
  'attacker@evil.com, alice@corp.com',
  'attacker@evil.com;alice@corp.com',
  '"attacker@evil.com, x"@corp.com',
  'Alice <attacker@evil.com>',
  '<attacker@evil.com> alice@corp.com',
  'group: attacker@evil.com, alice@corp.com;',
  'alice@corp.com\r\nRCPT TO:<attacker@evil.com>',
  'alice@corp.com\u0000@evil.com',
  'attacker@evil.com@corp.com',
  'alice@[127.0.0.1]',
  'alice(attacker@evil.com)@corp.com',
]

test('a sender with a name, a plain address or a local address is valid', async () => {
  for (const from of ['Alice, of sales <alice@example.com>', 'alice@example.com', 'Gatehouse <no-reply@localhost>'])
    await build({ provider: 'smtp', url: 'smtp://localhost', from }).close?.()
})

test('every email provider is called with exactly one address or not at all', async (t) => {
  const credentials = { region: 'eu-central-1', accessKeyId: 'a', secretAccessKey: 'b' }
  const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
  const fakes = [await startSes(credentials), await startSendgrid({ apiKey: 'k' }), await startHttp({ secret })]
  const [ses, sendgrid, http] = fakes.map(({ url }) => url)
  const keys = { access_key_id: 'a', secret_access_key: 'b', region: 'eu-central-1' }
  const providers: Provider[] = [
    build({ provider: 'ses', url: ses, ...keys }),
    build({ provider: 'sendgrid', url: sendgrid, api_key: 'k' }),
    build({ provider: 'http', url: `${http}/messages`, secret }, { channel: 'email' }),
  ]
  t.after(async () => {
    for (const each of [...providers.map(({ close }) => close?.()), ...fakes.map((fake) => fake.stop())]) await each
  })
  for (const provider of providers)
    for (const address of crafted) {
      const mail = message({ channel: 'email', target: { id: 'email', address } })
      const result = await sendOne(provider, mail)
      assert.equal(result.kind, 'permanent', `${provider.name} ${address}`)
    }
  assert.deepEqual(
    fakes.map(({ requests }) => requests.length),
    [0, 0, 0],
  )
})
