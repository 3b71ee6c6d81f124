import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeBase32, findStep, hotp, readCode, stepAt, totpUri } from '../../src/model/factors/totp.ts'

const secret = Buffer.from('12345678901234567890')

test('codes are those of RFC 4226 appendix D', () => {
  const codes = ['755224', '287082', '359152', '969429', '338314', '254676', '287922', '162583', '399871', '520489']
  assert.deepEqual(
    codes.map((_, counter) => hotp(secret, counter)),
    codes,
  )
})

test('codes at the times of RFC 6238 appendix B are the last six of its eight digits', () => {
  for (const [seconds, code] of [
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ] as const)
    assert.equal(hotp(secret, stepAt(seconds * 1000)), code.slice(2), String(seconds))
})

test('a code is found one step before and after now, and not two', () => {
  const now = 1_700_000_010_000
  const step = stepAt(now)
  for (const [by, found] of [
    [-60, false],
    [-30, true],
    [0, true],
    [30, true],
    [60, false],
  ] as const) {
    const code = hotp(secret, stepAt(now + by * 1000))
    assert.equal(findStep(secret, code, { now, lastStep: -1 }), found ? step + by / 30 : undefined, String(by))
  }
})

test('a code of the last accepted step, or of one before, is not found', () => {
  const now = 1_700_000_010_000
  const step = stepAt(now)
  const codes = [-1, 0, 1].map((by) => hotp(secret, step + by))
  const found = codes.map((code) => findStep(secret, code, { now, lastStep: step }))
  assert.deepEqual(found, [undefined, undefined, step + 1])
})

test('spaces in a typed code are removed, and anything but six ASCII digits is refused', () => {
  for (const typed of ['123456', '123 456', ' 1 2 3 4 5 6 ']) assert.equal(readCode(typed), '123456', typed)
  for (const typed of [undefined, '', '12345', '1234567', '12345a', '123\t456', '١٢٣٤٥٦', '123 456\n', '+12345'])
    assert.equal(readCode(typed), undefined, String(typed))
})

test('base32 is that of RFC 4648 without padding', () => {
  for (const [text, encoded] of [
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
  ] as const)
    assert.equal(encodeBase32(Buffer.from(text)), encoded)
})

test('the address of a QR code names issuer and account without a colon of their own', () => {
  const uri = new URL(totpUri(secret, 'Acme: Print & Co', 'anna:b@example.com'))
  assert.equal(uri.protocol, 'otpauth:')
  assert.equal(decodeURIComponent(uri.pathname).split('/').at(-1), 'Acme  Print & Co:anna b@example.com')
  assert.deepEqual(Object.fromEntries(uri.searchParams), {
    secret: encodeBase32(secret),
    issuer: 'Acme  Print & Co',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})
