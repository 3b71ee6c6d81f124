import assert from 'node:assert/strict'
import { createHmac, createSign, generateKeyPairSync, hash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { BearerError, createBearer, createRevocations } from '../../src/index.ts'
import { audience, goodClaims, issuer, manualClock, setup, signingKey } from '../support/issuer.ts'

const encode = (value: string | object) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** An issuer whose private key is at hand, so that anything at all can be signed. */
async function setupRaw() {
  const clock = manualClock()
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256' }
  const bearer = createBearer({ issuer, audience, keys: [jwk], clock })
  await bearer.prefetch()
  const header = { alg: 'RS256', kid: 'one', typ: 'at+jwt' }
  const claims = goodClaims(clock.now())
  const signed = (head: string | object, payload: string | object) => {
    const input = `${encode(head)}.${encode(payload)}`
    return `${input}.${createSign('sha256').update(input).sign(privateKey, 'base64url')}`
  }
  const reasonOf = (token: string) => {
    try {
      bearer.authenticate(`Bearer ${token}`)
      return 'accepted'
    } catch (error) {
      assert.ok(error instanceof BearerError, String(error))
      return error.reason
    }
  }
  return { bearer, publicKey, jwk, header, claims, signed, reasonOf }
}

/** What an attacker who knows the public key might take for the secret of an HMAC. */
const secrets: Record<string, (pem: string, jwk: object & { n?: string }) => string[]> = {
  'CVE-2023-48223: a public key': (pem) => [pem, pem.trim()],
  'CVE-2026-34950: a public key behind blanks': (pem) => [` ${pem}`, `\n${pem}`, `\uFEFF${pem}`],
  'GHSA-ww5h-9m49-7xx4: a public key behind other characters': (pem) =>
    ['# a comment\n', '.', 'HTTP/1.1 200 OK\r\n\r\n', '\0', '\x1b', '\u200b'].map((prefix) => prefix + pem),
  'GHSA-g3jj-5cmm-3hxx: a key or key set in JSON': (_, jwk) => [JSON.stringify(jwk), JSON.stringify({ keys: [jwk] })],
  'CVE-2026-11800: the modulus of a key': (_, jwk) => [String(jwk.n)],
  'CVE-2026-44351: nothing at all': () => [''],
}

for (const [what, made] of Object.entries(secrets))
  test(`${what} is never used as the secret of an HMAC`, async () => {
    const { publicKey, jwk, header, claims, reasonOf } = await setupRaw()
    for (const secret of made(String(publicKey.export({ format: 'pem', type: 'spki' })), jwk))
      for (const [alg, digest] of [
        ['HS256', 'sha256'],
        ['HS512', 'sha512'],
        ['RS256', 'sha256'],
      ] as const) {
        const input = `${encode({ ...header, alg })}.${encode(claims)}`
        const reason = reasonOf(`${input}.${createHmac(digest, secret).update(input).digest('base64url')}`)
        assert.equal(reason, alg === 'RS256' ? 'signature' : 'algorithm', `${alg} ${JSON.stringify(secret)}`)
      }
  })

test('GHSA-8wpc-h4q6-8fxv: without a key no token is accepted', async () => {
  const { header, claims, signed } = await setupRaw()
  const keyless = createBearer({ issuer, audience, keys: [], clock: manualClock() })
  for (const alg of ['HS256', 'HS512', 'RS256', 'PS256', 'ES256', 'EdDSA', 'none']) {
    const input = `${encode({ ...header, alg })}.${encode(claims)}`
    const empty = createHmac('sha256', '').update(input).digest('base64url')
    for (const token of [`${input}.`, `${input}.${empty}`])
      await assert.rejects(async () => keyless.authenticate(`Bearer ${token}`), BearerError, alg)
  }
  await assert.rejects(async () => keyless.authenticate(`Bearer ${signed(header, claims)}`), BearerError)
})

test('an unsigned token is refused, in every spelling of none', async () => {
  const { header, claims, reasonOf } = await setupRaw()
  for (const alg of ['none', 'None', 'NONE', '', 'rs256']) {
    for (const kid of ['one', undefined]) {
      const input = `${encode({ ...header, alg, kid })}.${encode(claims)}`
      assert.equal(reasonOf(`${input}.`), 'algorithm')
    }
  }
  assert.equal(reasonOf(`${encode(header)}.${encode(claims)}.`), 'signature')
  assert.equal(reasonOf(`${encode(header)}.${encode(claims)}`), 'malformed')
})

test("an algorithm other than the key's own is refused, although the key could verify it", async () => {
  const { header, claims, signed, reasonOf } = await setupRaw()
  assert.equal(reasonOf(signed({ ...header, alg: 'PS256' }, claims)), 'algorithm')
  assert.equal(reasonOf(signed({ ...header, alg: 'ES256' }, claims)), 'algorithm')
})

test('CVE-2025-30144: a list of issuers is refused, although it contains the right one', async () => {
  const { header, claims, signed, reasonOf } = await setupRaw()
  assert.equal(reasonOf(signed(header, { ...claims, iss: ['https://evil.example', issuer] })), 'issuer')
})

test('CVE-2026-35040: repeated checks of one token have one result, cached or not', async () => {
  const { header, claims, signed, reasonOf } = await setupRaw()
  const foreign = signed(header, { ...claims, aud: `${audience}.example` })
  const good = signed(header, claims)
  for (let time = 0; time < 4; time++) {
    assert.equal(reasonOf(good), 'accepted')
    assert.equal(reasonOf(foreign), 'audience')
    assert.equal(reasonOf(signed(header, { ...claims, jti: `token-${time}` })), 'accepted')
  }
})

test('CVE-2026-35041: expected claim values are compared as text, never as patterns', () => {
  for (const expected of [/^(a+)+$/, { test: () => true }] as unknown as string[]) {
    assert.throws(() => createBearer({ issuer: expected, audience, keys: [] }), TypeError)
    assert.throws(() => createBearer({ issuer, audience: [expected], keys: [] }), TypeError)
  }
})

test('CVE-2026-35042: critical extensions (crit) and unencoded payloads are refused', async () => {
  const { header, claims, signed, reasonOf } = await setupRaw()
  assert.equal(reasonOf(signed({ ...header, crit: ['exp'] }, claims)), 'header')
  assert.equal(reasonOf(signed({ ...header, crit: [] }, claims)), 'header')
  assert.equal(reasonOf(signed({ ...header, crit: ['b64'], b64: false }, claims)), 'header')
  assert.equal(reasonOf(signed({ ...header, b64: true }, claims)), 'header')
})

test('CVE-2026-35039: a cached result is found by the whole token only', async () => {
  const { bearer, header, claims, signed, reasonOf } = await setupRaw()
  const alice = signed(header, { ...claims, sub: 'alice' })
  const bob = signed(header, { ...claims, sub: 'bob' })
  for (const [token, subject] of [
    [alice, 'alice'],
    [bob, 'bob'],
    [alice, 'alice'],
  ] as const) {
    assert.equal((await bearer.authenticate(`Bearer ${token}`)).subject, subject)
  }
  assert.equal(reasonOf(`${bob.slice(0, bob.lastIndexOf('.'))}${alice.slice(alice.lastIndexOf('.'))}`), 'signature')
})

test('repeated JSON members are refused at any depth, in header and claims', async () => {
  const { header, claims, signed, reasonOf } = await setupRaw()
  const rest = JSON.stringify(claims).slice(1)
  assert.equal(reasonOf(signed(header, `{"sub":"root",${rest}`)), 'claims')
  assert.equal(reasonOf(signed(header, `{"s\\u0075b":"root",${rest}`)), 'claims')
  assert.equal(reasonOf(signed(header, `{"act":[{"a":{"b":1,"b":2}}],${rest}`)), 'claims')
  assert.equal(reasonOf(signed(header, `{"__proto__":{"a":1},"__proto__":{},${rest}`)), 'claims')
  assert.equal(reasonOf(signed('{"alg":"RS256","alg":"RS256","kid":"one","typ":"at+jwt"}', claims)), 'malformed')
  assert.equal(reasonOf(signed(header, `{"note":"a\\": \\"b","colon":":","esc\\\\":"\\\\",${rest}`)), 'accepted')
})

test('a member named __proto__ changes no prototype', async () => {
  const { bearer, header, claims, signed } = await setupRaw()
  const token = signed(header, `{"__proto__":{"roles":["admin"],"plan":"pro"},${JSON.stringify(claims).slice(1)}`)
  const caller = await bearer.authenticate(`Bearer ${token}`)
  assert.deepEqual([caller.roles, caller.plan], [[], undefined])
})

test('a payload that is not a JSON object is refused', async () => {
  const { header, signed, reasonOf } = await setupRaw()
  for (const payload of [
    '',
    'null',
    '[]',
    '"text"',
    '1',
    '{',
    '{}x',
    '\uFEFF{}',
    `${'['.repeat(2500)}${']'.repeat(2500)}`,
  ]) {
    assert.equal(reasonOf(signed(header, payload)), 'claims', payload.slice(0, 20))
  }
})

test('text that is not UTF-8 is refused', async () => {
  const { header, reasonOf } = await setupRaw()
  const overlong = Buffer.from([0x7b, 0x22, 0xc0, 0xae, 0x22, 0x3a, 0x31, 0x7d]).toString('base64url')
  assert.equal(reasonOf(`${overlong}.${encode(header)}.AAAA`), 'malformed')
})

test('only strict base64url is accepted: no padding, blanks, other alphabet or stray bits', async () => {
  const { header, claims, signed, reasonOf } = await setupRaw()
  const token = signed(header, claims)
  const [head = '', payload = '', signature = ''] = token.split('.')
  assert.equal(reasonOf(token), 'accepted')
  const stray = { A: 'B', Q: 'R', g: 'h', w: 'x' }[signature.slice(-1)]
  for (const other of [
    `${signature}=`,
    `${signature}==`,
    signature.replaceAll('_', '/').replaceAll('-', '+'),
    `${signature.slice(0, -1)}${stray}`,
  ]) {
    assert.equal(reasonOf(`${head}.${payload}.${other}`), 'malformed')
  }
  for (const mangled of [
    `${head}=.${payload}.${signature}`,
    `.${payload}.${signature}`,
    `${token}.`,
    `${token}.${payload}.AA`,
    '..',
    '.',
    'a',
  ]) {
    assert.equal(reasonOf(mangled), 'malformed')
  }
})

test('a token of more than 8192 characters is refused unread', async () => {
  const { header, claims, signed, reasonOf } = await setupRaw()
  assert.equal(reasonOf(signed(header, { ...claims, pad: 'x'.repeat(8192) })), 'too_long')
})

test("Keycloak CVE-2026-1486: another issuer's token is refused, even with the same key", async () => {
  const { header, claims, signed, reasonOf } = await setupRaw()
  for (const iss of ['https://auth.example.evil', 'HTTPS://auth.example', ' https://auth.example', '']) {
    assert.equal(reasonOf(signed(header, { ...claims, iss })), 'issuer')
  }
})

test('CVE-2023-22492: a token of a revoked grant is refused, although otherwise valid', async () => {
  const revocations = createRevocations({
    read: async (after) => ({ revocations: after === undefined ? [{ grant: 'grant-1' }] : [], next: 'end' }),
  })
  const { bearer, token } = await setup({ revocations })
  const header = `Bearer ${await token()}`
  await bearer.authenticate(header)
  await revocations.poll()
  assert.throws(() => bearer.authenticate(header), { code: 'invalid_token', reason: 'revoked' })
})

test('a point that is not on the curve is not a key', async () => {
  const key = await signingKey()
  const bearer = createBearer({ issuer, audience, keys: [{ ...key.jwk, y: key.jwk.x } as object] })
  assert.equal(await bearer.prefetch(), false)
})

test('an RSA key with an exponent of one or an even one verifies nothing', async () => {
  const { jwk } = await setupRaw()
  for (const e of ['AQ', 'Ag']) {
    const bearer = createBearer({ issuer, audience, keys: [{ ...jwk, e }] })
    assert.equal(await bearer.prefetch(), false)
  }
})

test('a changed token is never valid', async () => {
  const { bearer, header, claims, signed } = await setupRaw()
  const token = signed(header, claims)
  const digest = hash('sha256', token)
  const changes = [fc.nat(token.length), fc.nat(3), fc.string({ minLength: 0, maxLength: 3 })] as const
  await fc.assert(
    fc.asyncProperty(...changes, async (at, cut, insert) => {
      const changed = token.slice(0, at) + insert + token.slice(at + cut)
      fc.pre(hash('sha256', changed) !== digest && !/\s/.test(changed))
      await assert.rejects(async () => bearer.authenticate(`Bearer ${changed}`), BearerError)
    }),
    { numRuns: 500 },
  )
})

test('any input results in a caller or a BearerError', async () => {
  const { bearer, header, claims, signed } = await setupRaw()
  const json = fc.oneof(fc.json(), fc.string())
  const credentials = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }).map((text) => `Bearer ${text}`),
    fc
      .tuple(json, json, fc.string())
      .map(([head, payload, tail]) => `Bearer ${encode(head)}.${encode(payload)}.${encode(tail)}`),
    fc.object().map((changes) => `Bearer ${signed({ ...header, ...changes }, claims)}`),
    fc.object().map((changes) => `Bearer ${signed(header, { ...claims, ...changes })}`),
    json.map((payload) => `Bearer ${signed(header, payload)}`),
    fc
      .dictionary(fc.constantFrom(...Object.keys(claims)), fc.jsonValue())
      .map((changes) => `Bearer ${signed(header, { ...claims, ...changes })}`),
  )
  await fc.assert(
    fc.asyncProperty(credentials, async (sent) => {
      try {
        await bearer.authenticate(sent)
      } catch (error) {
        assert.ok(error instanceof BearerError, String(error))
      }
    }),
    { numRuns: 500 },
  )
})
