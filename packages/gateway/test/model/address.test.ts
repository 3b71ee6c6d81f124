import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressText, countedAddress, inRange, parseAddress, parseRange } from '../../src/model/address.ts'

function counted(text: string): string | undefined {
  const address = parseAddress(text)
  return address && countedAddress(address)
}

function within(address: string, range: string): boolean {
  const parsed = parseAddress(address)
  return parsed !== undefined && inRange(parsed, parseRange(range))
}

test('IPv4 counts in full, IPv6 by its /64, an IPv4-mapped address as the IPv4 it is', () => {
  const cases = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:0201', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::', '2001:db8:1:3::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['1.2.3', undefined],
    ['1.2.3.4.5', undefined],
    ['', undefined],
    ['example.com', undefined],
  ] as const
  for (const [text, expected] of cases) assert.equal(counted(text), expected, text)
})

test('an address is formatted in full for upstreams', () => {
  const text = (address: string) => addressText(parseAddress(address) ?? new Uint8Array())
  assert.equal(text('::ffff:10.1.2.3'), '10.1.2.3')
  assert.equal(text('2001:db8::1'), '2001:db8:0:0:0:0:0:1')
})

test('a range contains the addresses with its prefix, of its own family only', () => {
  const cases = [
    ['10.9.8.7', '10.0.0.0/8', true],
    ['11.0.0.0', '10.0.0.0/8', false],
    ['172.16.0.1', '172.16.0.0/12', true],
    ['172.31.255.255', '172.16.0.0/12', true],
    ['172.32.0.0', '172.16.0.0/12', false],
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.2', '192.0.2.1', false],
    ['192.0.2.2', '0.0.0.0/0', true],
    ['2001:db8::1', '2001:db8::/32', true],
    ['2001:db9::1', '2001:db8::/32', false],
    ['10.0.0.1', '::/0', false],
    ['::ffff:10.0.0.1', '10.0.0.0/8', true],
    ['10.0.0.1', '::ffff:10.0.0.0/104', true],
    ['11.0.0.1', '::ffff:10.0.0.0/104', false],
  ] as const
  for (const [address, range, expected] of cases) assert.equal(within(address, range), expected, `${address} ${range}`)
})

test('an invalid range is rejected with what was expected', () => {
  for (const range of ['10.0.0.0/33', '10.0.0.0/x', '10.0.0/8', '10.0.0.0/8/8', '', '2001:db8::/129', '10.0.0.0/'])
    assert.throws(() => parseRange(range), RangeError, range)
})
