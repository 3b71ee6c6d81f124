import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createBearer } from '../../src/index.ts'
import {
  audience,
  type FakeResponse,
  goodClaims,
  manualClock,
  sign,
  signingKey,
  startServer,
} from '../support/issuer.ts'

/** An issuer at `<origin>/tenant` that tells where its keys are. */
async function setup(t: TestContext, metadata: (origin: string) => Record<string, unknown>) {
  const key = await signingKey()
  const wellKnown = { path: '/.well-known/oauth-authorization-server/tenant' }
  const server = await startServer(({ path }): FakeResponse => {
    if (path === wellKnown.path) return { body: metadata(server.origin) }
    return path === '/keys' ? { body: { keys: [key.jwk] } } : { status: 404 }
  })
  t.after(server.close)
  const clock = manualClock()
  const issuer = `${server.origin}/tenant`
  const causes: string[] = []
  const observer = { keysFailed: (failed: { cause: unknown }) => causes.push(String(failed.cause)) }
  const bearer = createBearer({ issuer, audience, clock, observer })
  const header = `Bearer ${await sign(key, { ...goodClaims(clock.now()), iss: issuer })}`
  return { server, bearer, header, causes, wellKnown }
}

const good = (origin: string) => ({ issuer: `${origin}/tenant`, jwks_uri: `${origin}/keys` })

test("the issuer's metadata locates its keys, and is fetched once", async (t) => {
  const { server, bearer, header } = await setup(t, good)
  assert.equal((await bearer.authenticate(header)).subject, 'alice')
  await bearer.refreshKeys()
  assert.deepEqual(
    server.requests.map(({ path }) => path),
    ['/.well-known/oauth-authorization-server/tenant', '/keys', '/keys'],
  )
})

test('an issuer with OpenID Connect metadata only is found too', async (t) => {
  const { bearer, header, wellKnown } = await setup(t, good)
  wellKnown.path = '/tenant/.well-known/openid-configuration'
  assert.equal((await bearer.authenticate(header)).subject, 'alice')
})

const refused: [what: string, metadata: (origin: string) => Record<string, unknown>, cause: RegExp][] = [
  [
    'of another issuer',
    (origin) => ({ ...good(origin), issuer: origin }),
    /metadata of the issuer .*\/tenant was expected/,
  ],
  ['without an address of keys', (origin) => ({ ...good(origin), jwks_uri: undefined }), /jwks_uri is missing/],
  [
    'with keys in the clear',
    (origin) => ({ ...good(origin), jwks_uri: 'http://keys.example/' }),
    /jwks_uri must be https/,
  ],
]
for (const [what, metadata, cause] of refused) {
  test(`CVE-2026-104850: metadata ${what} is rejected`, async (t) => {
    const { server, bearer, header, causes } = await setup(t, metadata)
    await assert.rejects(async () => bearer.authenticate(header), { code: 'unavailable' })
    assert.match(causes[0] ?? '', cause)
    assert.equal(server.requests.length, 1)
  })
}

test('metadata of an https issuer with keys over http on loopback is rejected', async () => {
  const issuer = 'https://issuer.example/tenant'
  const addresses: string[] = []
  const fetch: typeof globalThis.fetch = async (address) => {
    addresses.push(String(address))
    return Response.json({ issuer, jwks_uri: 'http://127.0.0.1:1/keys' })
  }
  const causes: string[] = []
  const observer = { keysFailed: (failed: { cause: unknown }) => causes.push(String(failed.cause)) }
  const bearer = createBearer({ issuer, audience, fetch, observer })
  assert.equal(await bearer.prefetch(), false)
  assert.match(causes[0] ?? '', /jwks_uri must be https, as its issuer is/)
  assert.equal(addresses.length, 1, 'nothing on this machine is asked')
})
