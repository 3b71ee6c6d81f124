import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { started } from './program.ts'

const folder = mkdtempSync(join(tmpdir(), 'identity-only-'))
after(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'gatehouse.yaml')
const callback = 'https://app.example/callback'
const secret = 'a-secret-of-many-characters'
const client = (id: string, format: string) => `
  - client_id: ${id}
    client_secret: ${secret}
    access_token_format: ${format}
    redirect_uris: ['${callback}']
    skip_consent: true
    scopes: [openid, email, 'read:users', 'admin:users', 'read:notifications']`
writeFileSync(
  file,
  `clients:${client('signed', 'jwt')}${client('opaque', 'opaque')}
users:
  - id: alice
    password: correct horse battery
    email: alice@example.com
`,
)

/** A person's browser on the way to a client: it keeps cookies, signs in, and answers the code. */
async function codeFor(front: string, query: Record<string, string>): Promise<string> {
  const page = await fetch(`${front}/authorize?${new URLSearchParams(query)}`)
  const cookie = page.headers.getSetCookie().map((line) => line.split(';', 1)[0])
  const body = new URLSearchParams({ username: 'alice', password: 'correct horse battery' })
  for (const [, name = '', value = ''] of (await page.text()).matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g))
    body.set(name, value)
  let response = await fetch(`${front}/login`, {
    method: 'POST',
    body,
    redirect: 'manual',
    headers: { cookie: cookie.join('; ') },
  })
  const cookies = [...cookie, ...response.headers.getSetCookie().map((line) => line.split(';', 1)[0])].join('; ')
  for (let step = 0; step < 5; step++) {
    const next = new URL(response.headers.get('location') ?? assert.fail(await response.text()), front)
    if (next.origin !== front) return next.searchParams.get('code') ?? assert.fail(next.href)
    response = await fetch(next, { redirect: 'manual', headers: { cookie: cookies } })
  }
  return assert.fail('the browser was sent in circles')
}

test('a token of an identity-only grant opens userinfo, and none of our own APIs', async () => {
  const { url, stop } = await started({ env: { GATEHOUSE_CONFIG: file } })
  const token = async (client_id: string, scope: string): Promise<string> => {
    const code_verifier = randomBytes(32).toString('base64url')
    const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
    const code = await codeFor(url, { client_id, response_type: 'code', scope, code_challenge })
    const body = new URLSearchParams({ client_id, client_secret: secret, code, code_verifier })
    const answer = (await (await fetch(`${url}/token`, { method: 'POST', body })).json()) as { access_token: string }
    return answer.access_token
  }
  const status = async (path: string, bearer: string) =>
    (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${bearer}` } })).status
  for (const client_id of ['signed', 'opaque']) {
    const identity = await token(client_id, 'openid email')
    assert.equal(await status('/userinfo', identity), 200)
    for (const path of ['/users/alice', '/admin/v1/users', '/v1/users/alice/preferences', '/v1/dead-letters']) {
      assert.equal(await status(path, identity), 401, `${client_id}: ${path}`)
    }
    const mixed = await token(client_id, 'openid read:users admin:users')
    assert.equal(await status('/users/alice', mixed), 200)
    assert.equal(await status('/admin/v1/users', mixed), 403, 'alice holds no role that allows it')
    assert.equal(await status('/userinfo', mixed), 200)
  }
  assert.equal((await stop()).code, 0)
})
