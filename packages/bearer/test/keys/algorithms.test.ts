import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { exportSPKI } from 'jose'
import { goodClaims, setup, sign, signingKey } from '../support/issuer.ts'

const algorithm = { code: 'invalid_token', reason: 'algorithm' }

for (const alg of ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519']) {
  test(`${alg} is accepted by default`, async () => {
    const { bearer, token } = await setup({}, alg)
    assert.equal((await bearer.authenticate(`Bearer ${await token()}`)).subject, 'alice')
  })
}

for (const [published, used] of [
  ['EdDSA', 'Ed25519'],
  ['Ed25519', 'EdDSA'],
] as const) {
  test(`a key published as ${published} verifies a token that says ${used}`, async () => {
    const clock = (await setup()).clock
    const key = await signingKey(published, 'one')
    const { bearer } = await setup({ keys: [key.jwk as never], clock })
    const header = `Bearer ${await sign({ ...key, alg: used }, goodClaims(clock.now()))}`
    assert.equal((await bearer.authenticate(header)).subject, 'alice')
  })
}

test('a key verifies its own algorithm only, with the same key id or none', async () => {
  const rs = await signingKey('RS256', 'one')
  const ps = await signingKey('PS256', 'one')
  const { bearer, clock } = await setup({ keys: [rs.jwk as never] })
  for (const kid of ['one', undefined]) {
    const header = `Bearer ${await sign(ps, goodClaims(clock.now()), { kid })}`
    await assert.rejects(async () => bearer.authenticate(header), { code: 'invalid_token' })
  }
})

test("two keys with one key id never verify each other's algorithm", async () => {
  const rs = await signingKey('RS256', 'same')
  const ps = await signingKey('PS256', 'same')
  const { bearer, clock } = await setup({ keys: [rs.jwk as never, ps.jwk as never] })
  const claims = goodClaims(clock.now())
  assert.equal((await bearer.authenticate(`Bearer ${await sign(rs, claims)}`)).subject, 'alice')
  assert.equal((await bearer.authenticate(`Bearer ${await sign(ps, claims)}`)).subject, 'alice')
  const [header, payload] = (await sign(rs, claims)).split('.')
  const signature = (await sign(ps, claims)).split('.')[2]
  await assert.rejects(async () => bearer.authenticate(`Bearer ${header}.${payload}.${signature}`), {
    reason: 'signature',
  })
})

test('a public key is never used as the secret of an HMAC', async () => {
  const { bearer, clock, key } = await setup({}, 'RS256')
  const { importJWK } = await import('jose')
  const pem = await exportSPKI((await importJWK(key.jwk, 'RS256', { extractable: true })) as never)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const kid of [key.kid, undefined]) {
    const signed = `${part({ alg: 'HS256', typ: 'at+jwt', kid })}.${part(goodClaims(clock.now()))}`
    for (const secret of [pem, JSON.stringify(key.jwk), key.jwk.n ?? '']) {
      const mac = createHmac('sha256', secret).update(signed).digest('base64url')
      await assert.rejects(async () => bearer.authenticate(`Bearer ${signed}.${mac}`), algorithm)
    }
  }
})
