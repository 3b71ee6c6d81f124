import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startHttp, startSmtp } from '@gatehouse/fakes'
import { createProvider, type Report } from '@gatehouse/providers'
import { reportServer } from './receive-reports.ts'

const folder = import.meta.dirname
const readme = readFileSync(join(folder, '../../packages/providers/README.md'), 'utf8')

for (const file of ['send-email.ts', 'receive-reports.ts'])
  test(`the README of the providers package shows ${file} as it is`, () => {
    assert.ok(readme.includes(`\`\`\`ts\n${readFileSync(join(folder, file), 'utf8')}\`\`\`\n`))
  })

test('the email example sends one mail and prints its result', async (t) => {
  const fake = await startSmtp()
  t.after(() => fake.stop())
  const env = { ...process.env, SMTP_URL: fake.url }
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'send-email.ts')], { env })
  assert.equal(stdout, 'accepted\n')
  assert.deepEqual(
    fake.requests.map(({ to }) => to),
    ['alice@example.com'],
  )
})

test('the report server passes on verified reports and rejects forged ones', async (t) => {
  const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
  const fake = await startHttp({ secret })
  const provider = createProvider({ provider: 'http', url: fake.url, secret })
  const id = '0198c0de-7a11-7000-8000-000000000001'
  const target = { id: 'email', address: 'alice@example.com' }
  const content = { body: 'Order A-1 left.', locale: 'en' }
  const about = { userId: 'alice', channel: 'email', event: 'order.shipped', critical: false } as const
  const message = { id, deliveryId: id, notificationId: id, ...about, target, content }
  await provider.send([message], AbortSignal.timeout(provider.timeoutMs))
  const reports: Report[] = []
  const server = reportServer(provider, 'https://shop.example.com', (report) => reports.push(report))
  t.after(async () => {
    server.close()
    await provider.close?.()
    await fake.stop()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/reports`
  await fake.sendWebhook?.(url, [{ message: id, what: 'delivered', eventId: 'e-1', at: Date.now() }])
  assert.deepEqual(
    reports.map(({ deliveryId, report }) => [deliveryId, report]),
    [[id, 'delivered']],
  )
  assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 403)
})
