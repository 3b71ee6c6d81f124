import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { startSmtp } from '@gatehouse/fakes'
import { findProgram, freePort, startPostfix, testWith } from '@gatehouse/testing'
import { buildProvider, createMessage, sendOne } from '../support/providers.ts'
import { eventually, seedEventType, setup } from '../support/setup.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const dkim = {
  domain: 'example.com',
  selector: 'mail2026',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
}
const secret = 'a-secret-of-the-bounces'
const bounces = { domain: 'bounces.test', secret }

/** The Python that Debian's package of dkimpy belongs to. */
function findPython(): string {
  const [, path] = /^#!\s*(\S+)/.exec(readFileSync(findProgram('dkimverify') ?? '', 'utf8')) ?? []
  return path ?? 'python3'
}

/** Whether dkimpy, which is not ours, finds the mail's signature to be right, and by the key of the DNS record. */
function isDkimSigned(raw: string): boolean {
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  const program = `
import dkim, sys
def txt(name, timeout=5):
    return b"v=DKIM1; k=rsa; p=${key}" if name.rstrip(b".") == b"mail2026._domainkey.example.com" else None
sys.stdout.write(str(dkim.verify(sys.stdin.buffer.read(), dnsfunc=txt)))`
  const answer = execFileSync(findPython(), ['-c', program], { input: Buffer.from(raw, 'latin1'), encoding: 'utf8' })
  return answer === 'True'
}

testWith(
  'python3-dkim',
  'mail has a DKIM signature over its unsubscribe fields that other software verifies',
  async () => {
    const fake = await startSmtp()
    const provider = buildProvider({ provider: 'smtp', url: fake.url, dkim, bounces })
    try {
      const headers = {
        'List-Unsubscribe': '<https://example.com/u/1>',
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }
      const content = { subject: 'Größe ✓', body: 'Zoë’s order.', html: '<p>Zoë’s order.</p>', locale: 'en' }
      const target = { id: 'email', address: 'alice@example.test' }
      assert.equal(
        (await sendOne(provider, createMessage({ channel: 'email', target, content, headers }))).kind,
        'accepted',
      )
      const raw = fake.requests[0]?.raw ?? ''
      assert.ok(isDkimSigned(raw))
      for (const [from, to] of [
        ['List-Unsubscribe-Post: List-Unsubscribe=One-Click', 'List-Unsubscribe-Post: Other'],
        ['https://example.com/u/1', 'https://example.com/u/2'],
        ['Subject: ', 'Subject: x'],
        ['order.', 'ordre.'],
      ] as const) {
        assert.ok(raw.includes(from), from)
        assert.ok(!isDkimSigned(raw.replace(from, to)), `${from} is covered`)
      }
    } finally {
      await provider.close?.()
      await fake.stop()
    }
  },
)

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
        (await service.call('GET', '/v1/suppressions')).body.suppressions.map(
          (each: { address: string }) => each.address,
        )

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
