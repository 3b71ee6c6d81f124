import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { codeFor } from '../support/person.ts'
import { started } from '../support/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'identity-only-'))
after(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'gatehouse.yaml')
const callback = 'https://app.example/callback'
const secret = 'a-secret-of-many-characters'
const alice = { username: 'alice', password: 'correct horse battery' }
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

test('a token of an identity-only grant opens userinfo, and none of our own APIs', async () => {
  const { url, stop } = await started({ env: { GATEHOUSE_CONFIG: file } })
  const token = async (client_id: string, scope: string): Promise<string> => {
    const code_verifier = randomBytes(32).toString('base64url')
    const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
    const code = await codeFor(url, alice, { client_id, response_type: 'code', scope, code_challenge })
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
