import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '@gatehouse/testing'
import { started } from '../support/program.ts'

/** The lines that the program offers for pasting, run by a shell in one go, as a reader would paste them. */
function paste(printed: string): string[] {
  const lines = printed.split('\n').filter((line) => /^(TOKEN|ID)=|^curl /.test(line))
  assert.equal(lines.length, 4, printed)
  const script = lines.map((line) => `${line}; echo; echo ---`).join('\n')
  const output = execFileSync('bash', ['-c', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 30_000,
  })
  return output.split('---\n').map((part) => part.trim())
}

test('the first run prints what it seeded and lines that work; the second run keeps it all', async () => {
  const first = await started({ dataDir: join(temporaryFolder('first-run'), 'data') })
  const printed = first.stdout()
  for (const place of [
    '/dev/mailbox',
    '/docs',
    '/openapi.json',
    '/healthz',
    '/metrics',
    '/.well-known/openid-configuration',
  ]) {
    assert.ok(printed.includes(`${first.url}${place}`), `${place} in ${printed}`)
  }
  assert.match(printed, /user +alice +password \S{16,} .*administers as gatehouse-owner/)
  assert.match(printed, /client +demo +secret \S{32,}/)
  assert.match(printed, /client +demo-web +\(public/)
  assert.match(printed, /client +demo-device +\(public; connects by device code\)/)

  const [, , timeline, user] = paste(printed)
  assert.equal(JSON.parse(timeline ?? '').event, 'order.shipped')
  assert.deepEqual(JSON.parse(user ?? ''), { id: 'alice', plan: 'free' })

  assert.equal((await first.stop()).code, 0)
  const second = await started({ dataDir: first.dataDir, port: Number(new URL(first.url).port) })
  assert.ok(!second.stdout().includes('First run'), 'secrets are shown once')
  const secret = /-u '(demo:[^']+)'/.exec(printed)?.[1] ?? ''
  const again = await fetch(`${second.url}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(secret).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  assert.equal(again.status, 200)
  assert.equal((await second.stop()).code, 0)
})

test('a stopped program has printed no secret into its log', async () => {
  const program = await started({ env: { LOG_LEVEL: 'trace' } })
  const secret = /client +demo +secret (\S+)/.exec(program.stdout())?.[1] ?? assert.fail('no secret was printed')
  await fetch(`${program.url}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'demo', client_secret: secret }),
  })
  const { stdout } = await program.stop()
  const log = stdout.split('\n').filter((line) => line.startsWith('{'))
  assert.ok(log.length > 0)
  assert.ok(!log.join('\n').includes(secret))
})
