import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defaultOptions } from '../../src/config/options.ts'
import { bucketOfLink, createShortenLinks, newLinkId } from '../../src/links/short-links.ts'
import { linkHostsOf } from '../../src/templates/link-hosts.ts'
import { replaceLinks } from '../../src/templates/text-links.ts'

const baseUrl = 'https://n.example'
const { retention } = defaultOptions
const linkHosts = new Set(['a.example'])
const now = Date.UTC(2026, 5, 1)
const shortenWith = (tracking: Parameters<typeof createShortenLinks>[0]['tracking'] = 'on') =>
  createShortenLinks({ baseUrl, hosts: new Set(), tracking, retention })
const shorten = (body: string, more: object = {}) =>
  shortenWith()({
    userId: 'alice',
    channel: 'sms',
    eventType: { sensitive: false },
    content: { body, locale: 'en' },
    linkHosts: linkHostsOf([{ body }]),
    now,
    ...more,
  })

/** Text that is no part of an address, with a space at both ends. */
const prose = fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => ` ${text.replaceAll(/http/gi, 'ftp')} `)
const address = fc.webUrl({ withFragments: true, withQueryParameters: true }).filter((url) => /[\w/]$/.test(url))

test('shortening replaces the links of a text and nothing else', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(prose, address), { maxLength: 6 }), prose, (pairs, end) => {
      const seen: string[] = []
      const replaced = replaceLinks(pairs.flat().join('') + end, (target) => {
        seen.push(target)
        return '→'
      })
      assert.equal(replaced, pairs.map(([text]) => `${text}→`).join('') + end)
      assert.deepEqual(
        seen,
        pairs.map(([, url]) => new URL(url).href),
      )
    }),
  )
})

test('shortening is reversible and idempotent for any text', () => {
  const pieces = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      'https://',
      'HTTP://a.b/',
      'x.example',
      '/',
      '(',
      ')',
      '?a=1&',
      '#',
      '.',
      '%',
      '@',
      '"',
      '<',
      `${baseUrl}/l/`,
    ),
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
      const text = parts.join('')
      const found: string[] = []
      const replaced = replaceLinks(text, () => {
        found.push('')
        return '\u{f0000}'
      })
      const [kept, ...rest] = replaced.split('\u{f0000}')
      assert.ok(text.startsWith(kept ?? '') && text.endsWith(rest.at(-1) ?? kept ?? ''))
      assert.equal(
        replaceLinks(text, () => undefined),
        text,
      )
      const once = shorten(text)
      const twice = shorten(once.content.body)
      assert.equal(twice.content.body, once.content.body)
      assert.deepEqual(twice.links, [])
      for (const { target } of once.links) assert.match(target, /^https?:\/\/[\x21-\x7e]+$/)
    }),
  )
})

const sentences = [
  ['See https://a.example/x.', 'See <https://a.example/x>.'],
  ['(https://a.example/x)', '(<https://a.example/x>)'],
  ['https://a.example/w_(x)', '<https://a.example/w_(x)>'],
  ['(https://a.example/w_(x)).', '(<https://a.example/w_(x)>).'],
  ['"https://a.example/x"', '"<https://a.example/x>"'],
  ['<https://a.example/x>', '<<https://a.example/x>>'],
  ['https://a.example/x?!', '<https://a.example/x>?!'],
  ['见https://a.example/x。', '见<https://a.example/x>。'],
  ['https://a.example/größe', '<https://a.example/gr%C3%B6%C3%9Fe>'],
  ['HTTPS://A.EXAMPLE/x', '<https://a.example/x>'],
  ['https://a.example/x\u200bhttps://b.example', '<https://a.example/x>\u200b<https://b.example/>'],
  ['https://a.example/token_-', '<https://a.example/token_->'],
  ['http://[::1]:8080/x', '<http://[::1]:8080/x>'],
  ['https://', 'https://'],
  ['https://user:word@a.example/', 'https://user:word@a.example/'],
  [`https://a.example/${'x'.repeat(2_000)}`, `https://a.example/${'x'.repeat(2_000)}`],
  ['javascript:alert(1) mailto:a@b.c ftp://a.example //a.example a.example', undefined],
  ['xhttps://a.example', undefined],
] as const

for (const [text, expected] of sentences)
  test(`the links of ${JSON.stringify(text).slice(0, 60)} are found as a reader sees them`, () => {
    assert.equal(
      replaceLinks(text, (target) => `<${target}>`),
      expected ?? text,
    )
  })

test('a short link id has twelve letters and digits, and equal addresses share one link', () => {
  const { content, links } = shorten('https://a.example/x and https://a.example/x or https://a.example/y')
  assert.equal(links.length, 2)
  const [x, y] = links
  assert.equal(content.body, `${baseUrl}/l/${x?.id} and ${baseUrl}/l/${x?.id} or ${baseUrl}/l/${y?.id}`)
  assert.match(x?.id ?? '', /^[\dA-Za-z]{12}$/)
})

test('a text has at most twenty short links; further addresses stay unchanged', () => {
  const text = Array.from({ length: 25 }, (_, n) => `https://a.example/${n}`).join(' ')
  const { content, links } = shorten(`${text} https://a.example/0`)
  assert.equal(links.length, 20)
  assert.match(content.body, /https:\/\/a\.example\/20 .*https:\/\/a\.example\/24 https:\/\/n\.example\/l\/\w{12}$/)
})

test('links are shortened on channels with click tracking, never in sensitive messages', () => {
  const cases = [
    ['on', undefined, 'sms', true],
    ['clicks', undefined, 'push', true],
    ['on', undefined, 'in-app', true],
    ['on', undefined, 'email', false],
    ['opens', undefined, 'sms', false],
    ['off', undefined, 'sms', false],
    ['off', 'clicks', 'sms', true],
    ['on', 'off', 'sms', false],
    [{ email: 'on' }, undefined, 'sms', false],
    [{ sms: 'clicks' }, undefined, 'sms', true],
    ['on', { sms: 'off' }, 'sms', false],
    ['on', { sms: 'off' }, 'push', true],
    ['off', { push: 'on' }, 'push', true],
    ['off', { push: 'on' }, 'sms', false],
  ] as const
  for (const [service, own, channel, expected] of cases)
    for (const sensitive of [false, true]) {
      const eventType = { sensitive, ...(own === undefined ? {} : { tracking: own }) }
      const content = { body: 'https://a.example', locale: 'en' }
      const { links } = shortenWith(service)({ userId: 'alice', channel, eventType, content, linkHosts, now })
      assert.equal(links.length > 0, expected && !sensitive, JSON.stringify([service, own, channel, sensitive]))
    }
})

test('a link of an in-app item expires with the item', () => {
  const days = { linkDays: 30, inboxDays: 100 }
  const short = createShortenLinks({ baseUrl, hosts: linkHosts, tracking: 'on', retention: days })
  const daysOf = (channel: 'sms' | 'in-app') => {
    const content = { body: 'https://a.example', locale: 'en' }
    const [link] = short({
      userId: 'alice',
      channel,
      eventType: { sensitive: false },
      content,
      linkHosts: new Set(),
      now,
    }).links
    return ((link?.expiresAt ?? 0) - now) / 86_400_000
  }
  assert.deepEqual([daysOf('sms'), daysOf('in-app')], [30, 100])
})

test('a link id contains its slot for any number of buckets, and is unique', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 32_767 }), fc.nat(), (buckets, n) => {
      const slot = n % 65_536
      const ids = Array.from({ length: 20 }, () => newLinkId(slot))
      assert.equal(new Set(ids).size, 20)
      for (const id of ids) {
        assert.match(id, /^[\dA-Za-z]{12}$/)
        assert.equal(bucketOfLink(id, buckets), slot % buckets)
      }
    }),
  )
  for (const id of ['', 'short', 'x'.repeat(13), '../../../etc', 'aaaaaaaaaaa_', 'aaaaaaaaaaaé'])
    assert.equal(bucketOfLink(id, 4), undefined)
})

test('a text of only brackets and punctuation stays unchanged', () => {
  const text = `https://a.example/${'(.)'.repeat(80_000)}${')'.repeat(20_000)}`
  assert.equal(shorten(text).content.body, text)
})
