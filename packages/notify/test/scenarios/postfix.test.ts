import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { freePort, startPostfix, testWith } from '@gatehouse/testing'
import { buildProvider } from '../support/providers/providers.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const dkim = {
  domain: 'example.com',
  selector: 'mail2026',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
}
const secret = 'a-secret-of-the-bounces'
const bounces = { domain: 'bounces.test', secret }

testWith(
  'postfix',
  'mail over Postfix is delivered, rejected for unknown users, and bounced to its delivery',
  async () => {
    const port = await freePort()
    const handOver = `#!/bin/sh
curl -sSf --data-binary @- -H 'content-type: message/rfc822' -H 'authorization: Bearer ${secret}' \\
  --url-query "to=$1" http://127.0.0.1:${port}/v1/webhooks/smtp || exit 75
`
    const server = await startPostfix({ handOver })
    const provider = buildProvider({ provider: 'smtp', url: server.url, dkim, bounces })
    const service = await setup({ providers: { email: [provider] } })
    try {
      await service.http.listen({ port, host: '127.0.0.1' })
      await seedEventType(service)
      const send = async (address: string) => {
        await service.call('PUT', '/v1/recipients/bob', { email: address, locale: 'en' })
        const event = { event: 'order.shipped', user_id: 'bob', data: { order_id: 'A-1' }, channels: ['email'] }
        return (await service.call('POST', '/v1/notify', event)).body.id as string
      }
      const reaches = (id: string, what: string) =>
        eventually(
          () => service.call('GET', `/v1/notifications/${id}`),
          ({ body }) => body.deliveries[0].state === what || body.deliveries[0].ended === what,
        )
      const suppressed = async () =>
        (await service.call('GET', '/v1/suppressions')).body.items.map((each: { address: string }) => each.address)

      await reaches(await send('alice@example.test'), 'sent')
      const [mail] = await eventually(
        async () => server.delivered(),
        (mails) => mails.length > 0,
      )
      assert.match(mail ?? '', /^Subject: Order A-1\r?$/m)
      assert.match(mail ?? '', /^Return-Path: <bounce\+[0-9a-f]{32}\.[0-9a-f]{20}@bounces\.test>\r?$/m)
      assert.match(
        mail ?? '',
        /^DKIM-Signature: v=1; a=rsa-sha256; c=relaxed\/relaxed; d=example\.com; ?\r?\n?\s*q=dns\/txt; s=mail2026;/m,
      )

      await reaches(await send('nobody@example.test'), 'dead_letter')
      assert.deepEqual(await suppressed(), ['nobody@example.test'])

      const full = await reaches(await send('someone@full.test'), 'bounced')
      assert.match(full.body.timeline.at(-1).detail.reason, /5\.2\.2 .*mailbox is full/)
      assert.deepEqual(await suppressed(), ['nobody@example.test'], 'a full mailbox is still a good address')

      await reaches(await send('nobody@later.test'), 'bounced')
      assert.deepEqual(await suppressed(), ['nobody@later.test', 'nobody@example.test'])
    } finally {
      await service.close()
      await server.stop()
    }
  },
)
