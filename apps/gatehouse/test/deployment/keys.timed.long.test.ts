import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { KeyRing, Secret } from '@gatehouse/kit'
import { briefly, freePort } from '@gatehouse/testing'
import { migratedDataDir } from '../support/data-dir.ts'
import { launch, root, started } from '../support/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'keys-'))
after(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'gatehouse.yaml')
const client = { client_id: 'operator', client_secret: 'the-secret-of-the-operator' }
writeFileSync(
  file,
  `clients:
  - client_id: ${client.client_id}
    client_secret: ${client.client_secret}
    plan: unlimited
    scopes: [read:users, 'admin:keys']
users:
  - id: alice
    password: correct horse battery
`,
)

const oldKey = 'zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G'
const newKey = 'aB4-nm8wUy6_eQr1Kt3Vx5Zc9Gh2Jd7L'

async function tokenAt(url: string): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...client })
  const answer = await fetch(`${url}/token`, { method: 'POST', body })
  return ((await answer.json()) as { access_token: string }).access_token
}

const statusOf = async (url: string, token: string) =>
  (await fetch(`${url}/users/alice`, { headers: { authorization: `Bearer ${token}` } })).status

/** Whether a console that derives its secret from this key can begin a sign-in. */
async function consoleSignsIn(url: string, key: string): Promise<boolean> {
  const [derived] = new KeyRing([new Secret(key)]).derive('gatehouse', 'console client secret')
  const credentials = `gatehouse-console:${derived?.toString('base64url')}`
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  const body = new URLSearchParams({
    response_type: 'code',
    redirect_uri: `${url}/console/callback`,
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  })
  const { status } = await fetch(`${url}/par`, { method: 'POST', body, headers: { authorization } })
  assert.ok(status === 201 || status === 401, `${status}`)
  return status === 201
}

async function forget(url: string, token: string): Promise<void> {
  const answer = await fetch(`${url}/admin/v1/signing-keys/rotate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ alg: 'ES256', compromised: true }),
  })
  assert.equal(answer.status, 200)
}

test('a token of a compromised key is refused by the next request in the same process', async () => {
  const program = await started({ env: { GATEHOUSE_CONFIG: file } })
  const token = await tokenAt(program.url)
  assert.equal(await statusOf(program.url, token), 200)
  await forget(program.url, token)
  assert.equal(await statusOf(program.url, token), 401)
  assert.equal(await statusOf(program.url, await tokenAt(program.url)), 200)
  await program.stop()
})

test('a gateway in another process rejects tokens of a compromised key within two seconds', async () => {
  const [identityPort, gatewayPort] = [await freePort(), await freePort()]
  const identityUrl = `http://localhost:${identityPort}`
  const shared = {
    GATEHOUSE_CONFIG: file,
    SERVICE_CLIENT_ID: 'services',
    SERVICE_CLIENT_SECRET: 'a-secret-among-the-services',
    ENCRYPTION_KEY: oldKey,
    AUTH_URL: identityUrl,
    BASE_URL: `http://localhost:${gatewayPort}`,
  }
  const identity = await started({ port: identityPort, env: { ...shared, SERVICES: 'identity' } })
  const apart = { ...shared, IDENTITY_URL: identityUrl, SERVICES: 'gateway' }
  const gateway = await started({ port: gatewayPort, env: apart })
  const token = await tokenAt(gateway.url)
  assert.equal(await statusOf(gateway.url, token), 200)
  await forget(identityUrl, token)
  const forgottenAt = performance.now()
  const next = await tokenAt(identityUrl)
  while ((await statusOf(gateway.url, token)) === 200) assert.ok(performance.now() < forgottenAt + 2_000)
  assert.equal(await statusOf(gateway.url, token), 401)
  assert.equal(await statusOf(gateway.url, next), 200, 'the key in its place is known')
  for (const program of [gateway, identity]) await program.stop()
})

function gatehouse(dataDir: string, key: string, ...args: string[]) {
  return spawnSync(process.execPath, [...briefly, join(root, 'apps/gatehouse/src/cli.ts'), ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, DATA_DIR: dataDir, ENCRYPTION_KEY: key },
    encoding: 'utf8',
    timeout: 60_000,
  })
}

test('an encryption key is replaced by adding one, putting it first, resealing and removing', async () => {
  const dataDir = await migratedDataDir()
  const port = await freePort()
  const run = (ENCRYPTION_KEY: string) => started({ dataDir, port, env: { GATEHOUSE_CONFIG: file, ENCRYPTION_KEY } })
  const first = await run(oldKey)
  const token = await tokenAt(first.url)
  await first.stop()
  const early = await (await launch({ dataDir, port, env: { ENCRYPTION_KEY: newKey } })).ended
  assert.equal(early.code, 1)
  assert.match(early.stderr, /gatehouse: ENCRYPTION_KEY lacks the key [\w-]{8}: \d+ of notify\.sealed_secret can't be/)
  for (const keys of [`${oldKey},${newKey}`, `${newKey},${oldKey}`]) {
    const program = await run(keys)
    assert.equal(await statusOf(program.url, token), 200)
    // Processes that put the one or the other key first run side by side meanwhile.
    for (const key of [oldKey, newKey]) assert.ok(await consoleSignsIn(program.url, key), `${keys}: ${key}`)
    await program.stop()
  }
  const resealed = gatehouse(dataDir, `${newKey},${oldKey}`, 'keys', 'reseal')
  assert.equal(resealed.status, 0, resealed.stderr)
  const { tables, old_keys } = JSON.parse(resealed.stdout)
  assert.deepEqual(
    tables.map(({ table, remaining }: { table: string; remaining: object }) => [table, remaining]),
    [
      ['identity.signing_key', {}],
      ['identity.outbox', {}],
      ['identity.authenticator_app', {}],
      ['identity.sign_in_link', {}],
      ['identity.connection', {}],
      // one for each column
      ...Array(3).fill(['identity.connection_flow', {}]),
      ['identity.provider_session', {}],
      ['notify.sealed_secret', {}],
      ['console.session', {}],
    ],
  )
  assert.ok(tables[0].resealed >= 2 && tables.at(-2).resealed === 1)
  assert.deepEqual([old_keys.length, old_keys[0].stored, old_keys[0].removable], [1, 0, true])
  assert.ok(Date.parse(old_keys[0].removable_after) > Date.now())
  const again = JSON.parse(gatehouse(dataDir, `${newKey},${oldKey}`, 'keys', 'reseal').stdout)
  assert.ok(again.tables.every((one: { resealed: number }) => one.resealed === 0))
  const last = await run(newKey)
  assert.equal(await statusOf(last.url, token), 200)
  assert.deepEqual([await consoleSignsIn(last.url, oldKey), await consoleSignsIn(last.url, newKey)], [false, true])
  await last.stop()
  for (const key of [oldKey, newKey]) assert.ok(!`${early.stderr}${resealed.stdout}${resealed.stderr}`.includes(key))
})
