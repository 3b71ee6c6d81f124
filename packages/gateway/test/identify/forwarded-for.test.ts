import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@gatehouse/kit'
import { createForwardedFor, maxForwardedEntries } from '../../src/identify/forwarded-for.ts'
import { addressText, parseAddress } from '../../src/model/address.ts'

function setup(...trusted: string[]) {
  const forwardedFor = createForwardedFor(trusted)
  return (peer: string, header?: string) =>
    addressText(forwardedFor.clientOf(parseAddress(peer) ?? new Uint8Array(4), header))
}

test('without trusted proxies X-Forwarded-For changes nothing', () => {
  assert.equal(setup()('198.51.100.7', '192.0.2.1'), '198.51.100.7')
})

test('X-Forwarded-For is read from the right to the first address that is not trusted', () => {
  const clientOf = setup('10.0.0.0/8', '2001:db8:ffff::/48')
  const cases = [
    ['10.0.0.1', undefined, '10.0.0.1', 'a trusted peer that forwards for nobody'],
    ['198.51.100.7', '192.0.2.1', '198.51.100.7', 'a stranger is not believed'],
    ['10.0.0.1', '192.0.2.1', '192.0.2.1', 'one proxy'],
    ['10.0.0.1', '203.0.113.9, 192.0.2.1', '192.0.2.1', 'what the client itself sent stays unread'],
    ['10.0.0.1', '203.0.113.9, 192.0.2.1, 10.0.0.2', '192.0.2.1', 'two proxies'],
    ['10.0.0.1', '203.0.113.9,192.0.2.1,2001:db8:ffff::5', '192.0.2.1', 'proxies of both families'],
    ['::ffff:10.0.0.1', '::ffff:192.0.2.1', '192.0.2.1', 'IPv4-mapped on both sides'],
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3', 'all of them are trusted'],
    ['10.0.0.1', '192.0.2.1:4711', '192.0.2.1', 'with a port'],
    ['10.0.0.1', '[2001:db8::1]:4711', '2001:db8:0:0:0:0:0:1', 'IPv6 with a port'],
    ['10.0.0.1', '192.0.2.1, unknown', '10.0.0.1', 'a malformed entry ends the walk'],
    ['10.0.0.1', '192.0.2.1, , 10.0.0.2', '10.0.0.2', 'an empty entry ends the walk'],
    ['10.0.0.1', '', '10.0.0.1', 'an empty header'],
  ] as const
  for (const [peer, header, expected, why] of cases) assert.equal(clientOf(peer, header), expected, why)
})

test('a request with too many X-Forwarded-For entries is refused', () => {
  const clientOf = setup('10.0.0.0/8')
  const entries = (count: number) => Array.from({ length: count }, () => '192.0.2.1').join(',')
  assert.equal(clientOf('10.0.0.1', entries(maxForwardedEntries)), '192.0.2.1')
  assert.throws(
    () => clientOf('10.0.0.1', entries(maxForwardedEntries + 1)),
    (error) => error instanceof Problem && error.status === 400,
  )
  assert.equal(clientOf('198.51.100.7', entries(maxForwardedEntries + 1)), '198.51.100.7')
})
