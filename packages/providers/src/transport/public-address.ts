import { type LookupAddress, type LookupOptions, lookup } from 'node:dns'
import { BlockList, isIP } from 'node:net'

/** IPv4 addresses that are not public: this host, private, link-local, shared, reserved and multicast (RFC 6890). */
const ranges = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
/** IPv6 addresses within 2000::/3, the public range, that are not public. */
const ranges6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const notPublic = new BlockList()
for (const range of ranges) add(range, 'ipv4')
for (const range of ranges6) add(range, 'ipv6')
const public6 = new BlockList()
public6.addSubnet('2000::', 3, 'ipv6')

function add(range: string, family: 'ipv4' | 'ipv6'): void {
  const [address = '', bits] = range.split('/')
  notPublic.addSubnet(address, Number(bits), family)
}

/** Whether the text is an IP address on the public internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !notPublic.check(address, 'ipv4')
  return family === 6 && public6.check(address, 'ipv6') && !notPublic.check(address, 'ipv6')
}

type Found = (error: Error | null, address: string | LookupAddress[], family?: number) => void

/**
 * Resolves a host name to its public addresses; fails with `ENOTPUBLIC` if it has none. Passed to the connection as its
 * `lookup`, so that the address checked is the address connected to.
 */
export function lookupPublic(hostname: string, options: LookupOptions, found: Found): void {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const allowed = error ? [] : addresses.filter(({ address }) => isPublicAddress(address))
    const [first] = allowed
    if (error) found(error, [])
    else if (!first)
      found(Object.assign(new Error(`${hostname} is not on the public internet`), { code: 'ENOTPUBLIC' }), [])
    else if (options.all) found(null, allowed)
    else found(null, first.address, first.family)
  })
}
