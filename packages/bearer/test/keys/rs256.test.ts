import assert from 'node:assert/strict'
import { constants, generateKeyPairSync, hash, privateEncrypt, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { rs256Check } from '../../src/keys/rs256.ts'

const sha256Info = '3031300d060960864801650304020105000420'
const data = Buffer.from('header.payload')
const digest = hash('sha256', data)

function setup(modulusLength = 2048) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength })
  const bytes = Math.ceil(modulusLength / 8)
  /** Signs any block at all, padded by nobody. */
  const signBlock = (hex: string) => {
    const block = Buffer.alloc(bytes)
    block.write(hex, 'hex')
    return privateEncrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, block)
  }
  const padded = (info: string) => `0001${'ff'.repeat(bytes - 3 - info.length / 2)}00${info}`
  return { privateKey, publicKey, bytes, check: rs256Check(publicKey), signBlock, padded }
}

test('RS256 verifies signatures of every key size', () => {
  for (const size of [2048, 2056, 3072, 4096]) {
    const { privateKey, check } = setup(size)
    const signature = sign('sha256', data, privateKey)
    assert.ok(check(data, signature))
    assert.ok(!check(Buffer.from('other'), signature))
  }
})

test('CVE-2006-4339, CVE-2014-1568: other paddings and trailing data are refused', () => {
  const { publicKey, bytes, check, signBlock, padded } = setup()
  const good = sha256Info + digest
  assert.ok(check(data, signBlock(padded(good))), 'the block of the standard')
  const forged = {
    'short padding and garbage behind': `0001${'ff'.repeat(8)}00${good}`,
    'block type 2': padded(good).replace('0001', '0002'),
    'block type 0': padded(good).replace('0001', '0000'),
    'a hole in the padding': padded(good).replace('0001ffff', '0001ff00'),
    'padding of another byte': padded(good).replace('0001ffffff', '0001fffffe'),
    'a leading byte': `01${padded(good).slice(2)}`,
    'no NULL parameters': padded(`302f300b06096086480165030402010420${digest}`),
    'garbage in the parameters': padded(`3035301106096086480165030402010504deadbeef0420${digest}`),
    'a long form of the length': padded(`308131300d060960864801650304020105000420${digest}`),
    'SHA-1': padded(`3021300906052b0e03021a05000414${hash('sha1', data)}`),
    'SHA-512': padded(`3051300d060960864801650304020305000440${hash('sha512', data)}`),
    'no DigestInfo': padded(digest),
    'a hash cut short': padded(sha256Info + digest.slice(0, -2)),
    'a byte behind': padded(`${good}00`),
    nothing: '00'.repeat(bytes),
  }
  for (const [what, block] of Object.entries(forged)) {
    const signature = signBlock(block)
    assert.ok(!verify('sha256', data, publicKey, signature), `${what}: node:crypto`)
    assert.ok(!check(data, signature), what)
  }
})

test("a signature must have the key's length and be a number below the modulus", () => {
  const { privateKey, publicKey, bytes, check } = setup()
  const signature = sign('sha256', data, privateKey)
  const modulus = Buffer.from(String(publicKey.export({ format: 'jwk' }).n), 'base64url')
  const sum = BigInt(`0x${signature.toString('hex')}`) + BigInt(`0x${modulus.toString('hex')}`)
  const wrapped = Buffer.from(sum.toString(16).padStart(bytes * 2 + 2, '0'), 'hex')
  const wrong = [Buffer.alloc(0), signature.subarray(1), Buffer.concat([Buffer.alloc(1), signature]), wrapped, modulus]
  for (const other of [...wrong, wrapped.subarray(1), Buffer.alloc(bytes), Buffer.alloc(bytes, 0xff)]) {
    assert.ok(!check(data, other))
  }
})

test('RS256 agrees with node:crypto on valid and changed signatures', () => {
  const { privateKey, publicKey, bytes, check } = setup()
  fc.assert(
    fc.property(fc.uint8Array(), fc.nat(bytes - 1), fc.nat(255), (bytesOf, at, flip) => {
      const signed = Buffer.from(bytesOf)
      const signature = sign('sha256', signed, privateKey)
      signature.writeUInt8(signature.readUInt8(at) ^ flip, at)
      assert.equal(check(signed, signature), verify('sha256', signed, publicKey, signature))
      assert.equal(check(signed, signature), flip === 0)
    }),
    { numRuns: 50, examples: [[new Uint8Array(), 0, 0]] },
  )
})
