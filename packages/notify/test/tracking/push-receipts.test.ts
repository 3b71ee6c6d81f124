import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApns, startFcm, startHttp, startWebPush } from '@gatehouse/fakes'
import { baseUrl, linkSecret } from '../support/providers/mail-links.ts'
import { buildProvider, createMessage, createPresentClock, sendOne } from '../support/providers/providers.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
const appleToken = 'ab'.repeat(32)
const receiptToken = 'r'.repeat(48)

/** Every push provider with its fake: what a device is registered with, and the receipt tokens that the fake was sent. */
const pushServices = {
  async apns() {
    const fake = await startApns()
    const { key, keyId: key_id, teamId: team_id, topic, url } = fake
    const provider = buildProvider({ provider: 'apns', key, key_id, team_id, topic, url }, { channel: 'push' })
    const received = () => fake.requests.map(({ payload }) => payload.receipt_token)
    return { fake, provider, device: { service: 'apns', token: appleToken }, received }
  },
  async fcm() {
    const fake = await startFcm()
    const entry = { provider: 'fcm', service_account: fake.serviceAccount, url: fake.url }
    const received = () => fake.requests.map(({ data }) => data?.receipt_token)
    return {
      fake,
      provider: buildProvider(entry, { channel: 'push' }),
      device: { service: 'fcm', token: 'a-token' },
      received,
    }
  },
  async web() {
    const fake = await startWebPush()
    const { publicKey: public_key, privateKey: private_key } = fake
    const keys = { public_key, private_key, subject: 'mailto:ops@example.com' }
    const provider = buildProvider({ provider: 'web-push', ...keys, hosts: ['127.0.0.1'], allow_private: true })
    const received = () => fake.requests.map(({ text }) => JSON.parse(text).data.receipt_token)
    return { fake, provider, device: { service: 'web', token: fake.subscribe() }, received }
  },
  async http() {
    const fake = await startHttp({ secret })
    const provider = buildProvider(
      { provider: 'http', url: fake.url, secret, services: ['huawei'] },
      { channel: 'push' },
    )
    const received = () => fake.requests.map(({ receipt_token: token }) => token)
    return { fake, provider, device: { service: 'huawei', token: 'b-token' }, received }
  },
}

const stateOf = async ({ call }: Setup, id: string) =>
  (await call('GET', `/v1/notifications/${id}`)).body.deliveries[0].state

for (const [name, start] of Object.entries(pushServices))
  test(`a push over ${name} has a token for reports of delivery, opening and click`, async (t) => {
    const { fake, provider, device, received } = await start()
    const s = await setup({
      linkSecret,
      publicUrl: baseUrl,
      clock: createPresentClock(),
      providers: { push: [provider] },
    })
    t.after(async () => {
      await s.close()
      await fake.stop()
    })
    await seedEventType(s)
    await s.call('PUT', '/v1/users/alice/devices/phone', device)
    const event = { event: 'order.shipped', user_id: 'alice', data: {}, channels: ['push'] }
    const { id } = (await s.call('POST', '/v1/notify', event)).body
    await eventually(
      () => stateOf(s, id),
      (state) => state === 'sent',
    )
    const [token] = received()
    for (const [report, state] of Object.entries({ delivered: 'delivered', opened: 'opened', clicked: 'clicked' })) {
      const payload = { receipts: [{ token, report }] }
      const answer = await s.http.inject({ method: 'POST', url: '/v1/receipts', payload })
      assert.deepEqual(answer.json(), { results: [{ status: 'accepted' }] })
      assert.equal(await stateOf(s, id), state)
    }
  })

for (const [name, start] of Object.entries(pushServices).filter(([each]) => each !== 'http'))
  test(`a push over ${name} that is too large with its token is sent without it`, async (t) => {
    const { fake, provider, device, received } = await start()
    t.after(async () => {
      await provider.close?.()
      await fake.stop()
    })
    const target = { id: 'phone', address: device.token, service: device.service }
    const push = (length: number) =>
      createMessage({ channel: 'push', target, receiptToken, content: { body: 'x'.repeat(length), locale: 'en' } })
    let largest = 4_096
    while ((await sendOne(provider, push(largest))).kind !== 'accepted') largest -= 1
    assert.deepEqual(received(), [undefined], 'the largest that fits has no token')
    assert.equal((await sendOne(provider, push(largest - 80))).kind, 'accepted')
    assert.equal(received()[1], receiptToken)
  })
