import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Liquid } from 'liquidjs'
import { type AdmissionState, type Counters, decide, type PlannedNotification } from '../src/admission.ts'
import { backoffMs } from '../src/backoff.ts'
import { nextHealth } from '../src/breaker.ts'
import { channels } from '../src/channel.ts'
import { composeDedupKey } from '../src/dedup-key.ts'
import { type DeliveryState, deliveryReports, deliveryStates, nextState } from '../src/delivery-state.ts'
import { bucketOfId, bucketOfUser, channelOf, deliveryIdOf, newId, notificationIdOf } from '../src/ids.ts'
import { lookUpLocale } from '../src/locale.ts'
import { smsSegments, textOfHtml } from '../src/message-text.ts'
import { listNames } from '../src/names.ts'
import { plainTemplate } from '../src/plain-template.ts'
import { quietUntil } from '../src/quiet-hours.ts'
import { compileTemplate } from '../src/template.ts'

const text = (of: object) => ({ templateId: 't', channel: 'email', locale: 'en', version: 1, body: '', ...of }) as const

describe('quiet hours', () => {
  const cases = [
    ['UTC', '22:00', '08:00', '2026-06-01T21:59:59Z', undefined, 'a minute too early'],
    ['UTC', '22:00', '08:00', '2026-06-01T22:00:00Z', '2026-06-02T08:00:00Z', 'they begin, and wrap midnight'],
    ['UTC', '22:00', '08:00', '2026-06-02T07:59:59Z', '2026-06-02T08:00:00Z', 'the end of the same night'],
    ['UTC', '22:00', '08:00', '2026-06-02T08:00:00Z', undefined, 'the morning itself'],
    ['UTC', '13:00', '14:00', '2026-06-01T13:30:00Z', '2026-06-01T14:00:00Z', 'a nap that does not wrap'],
    ['UTC', '08:00', '08:00', '2026-06-01T08:00:00Z', undefined, 'start = end means none'],
    ['Europe/Berlin', '22:00', '08:00', '2026-03-28T22:00:00Z', '2026-03-29T06:00:00Z', 'the night that loses an hour'],
    ['Europe/Berlin', '22:00', '08:00', '2026-10-24T21:00:00Z', '2026-10-25T07:00:00Z', 'the night that gains one'],
    [
      'Europe/Berlin',
      '22:00',
      '02:30',
      '2026-03-28T23:00:00Z',
      '2026-03-29T01:30:00Z',
      'an end in the gap is an hour later by the wall',
    ],
    [
      'Europe/Berlin',
      '22:00',
      '02:30',
      '2026-10-24T23:00:00Z',
      '2026-10-25T00:30:00Z',
      'an end in the overlap is the first one',
    ],
    ['Europe/Berlin', '22:00', '02:30', '2026-10-25T01:10:00Z', undefined, 'the second 02:10 comes after the morning'],
    [
      'Europe/Berlin',
      '22:00',
      '02:30',
      '2026-03-29T01:10:00Z',
      '2026-03-29T01:30:00Z',
      'who comes after the gap waits as long as who came before it',
    ],
    ['Europe/Berlin', '02:30', '06:00', '2026-03-29T01:10:00Z', undefined, 'a start in the gap is an hour later too'],
    ['Europe/Berlin', '02:30', '06:00', '2026-03-29T01:30:00Z', '2026-03-29T04:00:00Z', 'and then they begin'],
    [
      'Europe/Berlin',
      '02:30',
      '06:00',
      '2026-10-25T01:10:00Z',
      '2026-10-25T05:00:00Z',
      'from the first 02:30 on they hold, also at the second 02:10',
    ],
    ['Europe/Berlin', '02:30', '03:15', '2026-03-29T01:20:00Z', undefined, 'nothing is left of them that day'],
    ['Pacific/Apia', '22:00', '07:00', '2026-06-01T09:30:00Z', '2026-06-01T18:00:00Z', 'far in the east'],
    [
      'America/St_Johns',
      '22:00',
      '07:00',
      '2026-11-01T03:00:00Z',
      '2026-11-01T10:30:00Z',
      'half an hour off, in autumn',
    ],
    ['America/New_York', '22:00', '07:00', '2026-03-08T05:00:00Z', '2026-03-08T11:00:00Z', 'New York springs forward'],
    [
      'Australia/Lord_Howe',
      '22:00',
      '07:00',
      '2026-04-04T15:00:00Z',
      '2026-04-04T20:30:00Z',
      'a change of half an hour',
    ],
    ['Asia/Kathmandu', '22:00', '07:00', '2026-06-01T17:00:00Z', '2026-06-02T01:15:00Z', 'a zone of 45 minutes'],
    ['Nowhere/Land', '22:00', '08:00', '2026-06-01T23:00:00Z', '2026-06-02T08:00:00Z', 'an unknown zone counts as UTC'],
  ] as const
  for (const [zone, start, end, now, until, why] of cases)
    test(`${zone} ${start}-${end} at ${now}: ${why}`, () => {
      const found = quietUntil({ start, end }, zone, Date.parse(now))
      assert.equal(
        found === undefined ? undefined : new Date(found).toISOString(),
        until && new Date(until).toISOString(),
      )
    })

  test('whoever waits until the end of quiet hours finds them over, and all who wait are told the same end', () => {
    const time = fc
      .integer({ min: 0, max: 1439 })
      .map((n) => `${String(Math.floor(n / 60)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}`)
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca')
    const day = { min: new Date('2026-01-01'), max: new Date('2027-01-01'), noInvalidDate: true }
    const change = { min: new Date('2026-10-24T22:00Z'), max: new Date('2026-10-25T08:00Z'), noInvalidDate: true }
    const spring = { min: new Date('2026-03-28T22:00Z'), max: new Date('2026-03-29T08:00Z'), noInvalidDate: true }
    const now = fc.oneof(fc.date(day), fc.date(change), fc.date(spring))
    fc.assert(
      fc.property(time, time, zone, now, fc.nat(999), (start, end, name, date, share) => {
        const until = quietUntil({ start, end }, name, date.getTime())
        if (until === undefined) return
        assert.ok(until > date.getTime() && until - date.getTime() <= 26 * 3_600_000)
        assert.equal(quietUntil({ start, end }, name, until), undefined)
        const later = date.getTime() + Math.floor(((until - date.getTime()) * share) / 1_000)
        assert.equal(quietUntil({ start, end }, name, later), until)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('the state machine', () => {
  test('whatever reports come, in whatever order and however often, no state is lowered and bounced is the end', () => {
    const rank = (state: DeliveryState) => deliveryStates.indexOf(state)
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...deliveryReports)), (reports) => {
        let state: DeliveryState = 'queued'
        for (const report of reports) {
          const next = nextState(state, report)
          if (next) assert.ok(rank(next) > rank(state))
          if (state === 'bounced') assert.equal(next, undefined)
          state = next ?? state
        }
        const last = reports.includes('bounced') || reports.includes('complained')
        assert.equal(state === 'bounced', last)
      }),
    )
  })
})

describe('admission', () => {
  const planned = (n: number, user: string, key: string | undefined, critical: boolean): PlannedNotification => ({
    id: newId(0),
    userId: user,
    event: 'e',
    data: {},
    priority: critical ? 'critical' : 'normal',
    acceptedAt: n,
    sensitive: false,
    decisions: [],
    stored: 'no',
    deliveries: (['push', 'email'] as const).map((channel) => ({
      channel,
      ...(key === undefined ? {} : { logKey: composeDedupKey('e', key, user, channel) }),
      plan: { kind: 'send', message: { body: '', locale: 'en', targets: [] } },
    })),
  })

  test('however events are cut into batches: one notification a key, the cap kept, replays free, critical ones past it', () => {
    const event = fc.record({
      user: fc.constantFrom('ann', 'bob'),
      key: fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { nil: undefined }),
      critical: fc.boolean(),
      gapMs: fc.constantFrom(0, 1_000, 50_000),
    })
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), fc.integer({ min: 0, max: 4 }), (events, cap) => {
        const rules = { caps: { total: cap, channels: {}, priorities: {} }, windowMs: 86_400 }
        const state: AdmissionState = { counters: new Map<string, Counters>(), logged: new Map() }
        const burnt = new Set<string>()
        const opened = new Map<string, { since: number; used: number }>()
        let now = 0
        for (const { user, key, critical, gapMs } of events) {
          now += gapMs
          const [decided] = decide([planned(now, user, key, critical)], state, rules, now)
          const outcomes = new Set(decided?.deliveries.map(({ outcome }) => outcome))
          assert.equal(outcomes.size, 1, 'both channels share their fate')
          const kept = opened.get(user)
          const window = kept && now < kept.since + rules.windowMs ? kept : { since: now, used: 0 }
          const isDuplicate = key !== undefined && burnt.has(`${user} ${key}`)
          const expected = isDuplicate ? 'duplicate' : critical || window.used < cap ? 'queued' : 'capped'
          assert.ok(outcomes.has(expected), `${[...outcomes]} instead of ${expected}`)
          if (expected === 'queued' && key !== undefined) burnt.add(`${user} ${key}`)
          if (expected === 'queued' && !critical) opened.set(user, { since: window.since, used: window.used + 1 })
        }
      }),
    )
  })

  test('a whole batch decided at once comes to the same as its events one by one', () => {
    const event = fc.record({
      user: fc.constantFrom('ann', 'bob'),
      key: fc.constantFrom('a', 'b', 'c'),
      critical: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), (events) => {
        const rules = { caps: { total: 2, channels: { email: 1 }, priorities: {} }, windowMs: 1_000 }
        const list = events.map(({ user, key, critical }, n) => planned(n, user, key, critical))
        const fresh = () => ({ counters: new Map<string, Counters>(), logged: new Map() })
        const one = fresh()
        const single = list.flatMap((each) => decide([each], one, rules, 0))
        assert.deepEqual(decide(list, fresh(), rules, 0), single)
      }),
    )
  })
})

describe('ids', () => {
  test('a delivery leads to its notification, its channel and its bucket, and no two channels share an id', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(1, 16, 256, 32_767), (user, buckets) => {
        const bucket = bucketOfUser(user, buckets)
        const id = newId(bucket)
        assert.ok(bucket >= 0 && bucket < buckets)
        const deliveries = channels.map((channel) => deliveryIdOf(id, channel))
        assert.equal(new Set([id, ...deliveries]).size, 5)
        for (const [index, delivery] of deliveries.entries()) {
          assert.equal(notificationIdOf(delivery), id)
          assert.equal(channelOf(delivery), channels[index])
          assert.equal(bucketOfId(delivery), bucket)
        }
      }),
    )
  })

  test('a key is composed of event, key, user and channel, and a composed one is kept', () => {
    assert.equal(composeDedupKey('e', 'k', 'u', 'push'), 'e:k:u:push')
    assert.equal(composeDedupKey('e', 'e:k:u:push', 'u', 'push'), 'e:k:u:push')
    assert.equal(composeDedupKey('e', 'e:k:u:push', 'u', 'email'), 'e:e:k:u:push:u:email')
  })
})

describe('templates', () => {
  test('simple texts render to the same characters as with the whole engine', () => {
    const liquid = new Liquid({ ownPropertyOnly: true, outputEscape: 'escape' })
    const part = fc.oneof(fc.constantFrom('{{ a }}', '{{b.c}}', '{{ b.d }}', '{{ missing }}', '{{  a  }}'), fc.string())
    const data = fc.record({
      a: fc.oneof(fc.string(), fc.integer(), fc.boolean()),
      b: fc.record({ c: fc.string(), d: fc.double() }),
    })
    fc.assert(
      fc.property(fc.array(part), data, (parts, values) => {
        const source = parts.join('')
        const plain = plainTemplate(source, true)?.(values)
        if (plain !== undefined) assert.equal(plain, liquid.parseAndRenderSync(source, values))
      }),
    )
  })

  test('values are escaped in HTML, ends of lines leave the subject, links lead to the web or to mail', () => {
    const compiled = compileTemplate(
      text({
        subject: 'Hello {{ name }}',
        html: '<p>{{ name }}</p><a href="{{ url }}">x</a><a href="https://a.example">y</a>',
      }),
    )
    const { content } = compiled.render({ name: '<b>\r\nBcc: all@example.com\u202e', url: 'java\nscript:alert(1)' })
    assert.equal(content.subject, 'Hello <b> Bcc: all@example.com')
    assert.match(content.html ?? '', /<p>&lt;b&gt;/)
    assert.match(content.html ?? '', /<a href="#">x<\/a><a href="https:\/\/a.example">y<\/a>/)
  })

  const hostile: ReadonlyArray<readonly [string, string]> = [
    ['an include', '{% include "/etc/passwd" %}'],
    ['a render', '{% render "/etc/passwd" %}'],
    ['a layout', '{% layout "/etc/passwd" %}'],
    ['a block', '{% block a %}{% endblock %}'],
    ['a prototype', '{{ name.constructor.constructor }}{{ name.__proto__ }}'],
    ['a range of a billion', '{% for i in (1..1000000000) %}{{ i }}{% endfor %}'],
    [
      'loops in loops',
      '{% for a in l %}{% for b in l %}{% for c in l %}{% for d in l %}{% for e in l %}x{% endfor %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}',
    ],
    [
      'a text that doubles',
      '{% assign s = "xxxxxxxxxxxxxxxx" %}{% for i in (1..40) %}{% assign s = s | append: s %}{% endfor %}{{ s }}',
    ],
    [
      'a replacement that explodes',
      '{% assign s = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" %}{% for i in (1..9) %}{% assign s = s | replace: "a", s %}{% endfor %}{{ s }}',
    ],
    ['a long pad', '{{ "x" | date: "%999999999d" }}'],
  ]
  for (const [what, body] of hostile)
    test(`${what} is refused or comes to nothing, soon`, () => {
      const l = Array.from({ length: 100 }, (_, n) => n)
      let output: string | undefined
      try {
        output = compileTemplate(text({ body })).render({ name: 'x', l }).content.body
      } catch (error) {
        assert.equal((error as Error).name, 'TemplateError')
      }
      if (output !== undefined) assert.doesNotMatch(output, /root:|function|native code/)
    })

  test('a locale is looked up from the most to the least precise, and never an unrelated one', () => {
    const there = new Set(['zh-Hant', 'en', 'pt-BR'])
    assert.equal(lookUpLocale(['zh-Hant-TW', 'en'], there), 'zh-Hant')
    assert.equal(lookUpLocale(['de', 'en_US'], there), 'en')
    assert.equal(lookUpLocale(['pt'], there), undefined)
    assert.equal(lookUpLocale(['not a tag', 'fr'], there), undefined)
  })

  test('names are listed as the locale lists and counts them', () => {
    const names = ['Ann', 'Bob', 'Chidi', 'Dana', 'Emre']
    assert.equal(listNames(names, 2, 'en'), 'Ann, Bob and 3 others')
    assert.equal(listNames(names.slice(0, 3), 2, 'en'), 'Ann, Bob and 1 other')
    assert.equal(listNames(names, 2, 'de'), 'Ann, Bob und 3 weitere')
    assert.equal(listNames(['Ann'], 2, 'en'), 'Ann')
  })

  test('an HTML mail has a text beside it, and an SMS tells its segments', () => {
    assert.equal(
      textOfHtml('<h1>On its way</h1><p>See <a href="https://a.example">here</a> &amp; now</p>'),
      'On its way\nSee here (https://a.example) & now',
    )
    assert.deepEqual(smsSegments('a'.repeat(161)), { encoding: 'GSM-7', segments: 2 })
    assert.deepEqual(smsSegments('ü€'.repeat(54)), { encoding: 'GSM-7', segments: 2 })
    assert.deepEqual(smsSegments('🚲'.repeat(36)), { encoding: 'UCS-2', segments: 2 })
  })
})

describe('retries and breakers', () => {
  test('the pause is anything up to the longest of its failure, which grows and is bounded', () => {
    const backoff = { baseMs: 1_000, factor: 10, longestMs: 900_000 }
    assert.deepEqual(
      [1, 2, 3, 4, 5].map((n) => backoffMs(n, backoff, 0.999_999)),
      [999, 9_999, 99_999, 899_999, 899_999],
    )
    assert.equal(backoffMs(3, backoff, 0), 0)
  })

  test('a breaker opens at its rate, doubles its time with each probe that fails, and closes with one that does not', () => {
    const rules = { windowMs: 1_000, leastCalls: 4, failureRate: 0.5, openMs: 100, longestOpenMs: 300 }
    let health = nextHealth({ since: 0, calls: 0, failures: 0, openings: 0 }, { calls: 3, failures: 3 }, rules, 0)
    assert.equal(health.openUntil, undefined, 'too few calls')
    health = nextHealth(health, { calls: 3, failures: 0 }, rules, 500)
    assert.equal(health.openUntil, 600)
    health = nextHealth(health, { calls: 1, failures: 1 }, rules, 550)
    assert.equal(health.openUntil, 600, 'calls that were under way change nothing')
    health = nextHealth(health, { calls: 1, failures: 1 }, rules, 600)
    assert.equal(health.openUntil, 800)
    health = nextHealth(health, { calls: 1, failures: 1 }, rules, 800)
    assert.equal(health.openUntil, 1_100, 'bounded')
    assert.equal(nextHealth(health, { calls: 1, failures: 0 }, rules, 1_100).openUntil, undefined)
  })
})
