import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { startSmtp } from '@gatehouse/fakes'
import { findProgram, testWith } from '@gatehouse/testing'
import { build, message, sendOne } from '../support/setup.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const dkim = {
  domain: 'example.com',
  selector: 'mail2026',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
}

/** The Python that Debian's package of dkimpy belongs to. */
function python(): string {
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
  const answer = execFileSync(python(), ['-c', program], { input: Buffer.from(raw, 'latin1'), encoding: 'utf8' })
  return answer === 'True'
}

testWith('python3-dkim', 'dkimpy verifies signed mail, whose signature covers one-click unsubscription', async () => {
  const fake = await startSmtp()
  const provider = build({ provider: 'smtp', url: fake.url, dkim })
  try {
    const headers = {
      'List-Unsubscribe': '<https://example.com/u/1>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    }
    const content = { subject: 'Größe ✓', body: 'Zoë’s order.', html: '<p>Zoë’s order.</p>', locale: 'en' }
    const target = { id: 'email', address: 'alice@example.test' }
    assert.equal((await sendOne(provider, message({ channel: 'email', target, content, headers }))).kind, 'accepted')
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
})
