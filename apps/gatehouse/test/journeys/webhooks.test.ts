import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTwilio } from '@gatehouse/fakes'
import { freePort, temporaryFolder } from '@gatehouse/testing'
import { sharedSecrets } from '../support/apart.ts'
import { started } from '../support/program.ts'
import { declaredShop, eventually, openShop } from '../support/shop.ts'

const dayMs = 86_400_000
const account = { accountSid: `AC${'1'.repeat(32)}`, authToken: 'the-token-of-the-account' }
const file = (twilioUrl: string) => `${declaredShop}event_types:
  - { event: order.shipped, channels: [sms] }
recipients:
  - { user_id: alice, phone_number: "+447700900123" }
providers:
  sms:
    - { provider: twilio, account_sid: ${account.accountSid}, auth_token: ${account.authToken}, from: "+15005550006", url: "${twilioUrl}" }
notify:
  suppression_days: { bounced: 7 }
policies:
  webhooks: { rpm: 6 }
`

test('signed provider reports pass the gateway unchanged, under a limit by address', async () => {
  const fake = await startTwilio(account)
  const [backPort, gatewayPort] = [await freePort(), await freePort()]
  const config = join(temporaryFolder('gatehouse-webhooks'), 'gatehouse.yaml')
  writeFileSync(config, file(fake.url))
  const front = `http://localhost:${gatewayPort}`
  const back = `http://localhost:${backPort}`
  const env = { ...sharedSecrets, AUTH_URL: back, BASE_URL: front, GATEHOUSE_CONFIG: config }
  const own = await started({ port: backPort, env: { ...env, SERVICES: 'identity,notify' } })
  const apart = { SERVICES: 'gateway', IDENTITY_URL: back, NOTIFY_URL: back }
  const gateway = await started({ port: gatewayPort, env: { ...env, ...apart } })
  const { shop, stateOf } = await openShop(front, ['sms'])
  const { id } = await shop.notify({ event: 'order.shipped', user_id: 'alice', data: { id: 'A-1' } })
  const state = () => stateOf(id, 'sms')
  await eventually(state, (found) => found === 'sent')
  const { sid, statusCallback = '' } = fake.requests[0] ?? assert.fail('nothing was sent')
  assert.ok(statusCallback.startsWith(`${front}/v1/webhooks/twilio?delivery=`))

  const forge = () =>
    fetch(statusCallback, {
      method: 'POST',
      headers: { 'x-twilio-signature': Buffer.alloc(20).toString('base64') },
      body: new URLSearchParams({ MessageSid: sid, MessageStatus: 'undelivered', ErrorCode: '30005' }),
    })
  for (let times = 0; times < 3; times++) assert.equal((await forge()).status, 403)
  assert.equal(await state(), 'sent')
  const now = Date.now()
  assert.equal(await fake.sendWebhook?.(`${front}/v1/webhooks/twilio`, [{ message: sid, what: 'bounced' }]), 204)
  assert.equal(await state(), 'bounced')
  const { items: suppressions } = (await shop.call('GET', '/v1/suppressions')) as {
    readonly items: ReadonlyArray<{ readonly address: string; readonly expires_at: string }>
  }
  assert.equal(suppressions[0]?.address, '+447700900123')
  const days = (Date.parse(suppressions[0]?.expires_at ?? '') - now) / dayMs
  assert.ok(days >= 7 && days < 7.1, `${days} days`)

  const answers = await Promise.all(Array.from({ length: 10 }, forge))
  const limited = answers.filter(({ status }) => status === 429)
  assert.equal(limited.length, 8, 'six a minute, of which four were used')
  assert.equal(limited[0]?.headers.get('x-ratelimit-limit'), '6')
  assert.match(limited[0]?.headers.get('retry-after') ?? '', /^\d+$/)
  for (const program of [gateway, own]) assert.equal((await program.stop()).code, 0)
  await fake.stop()
})
