import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryObjects } from 'node:v8'
import fc from 'fast-check'
import { Liquid } from 'liquidjs'
import { lookUpLocale } from '../../src/model/locale.ts'
import { smsSegments, textOfHtml } from '../../src/templates/message-text.ts'
import { listNames } from '../../src/templates/names.ts'
import { plainTemplate } from '../../src/templates/plain-template.ts'
import { compileTemplate } from '../../src/templates/template.ts'

const text = (of: object) => ({ templateId: 't', channel: 'email', locale: 'en', version: 1, body: '', ...of }) as const

test('simple texts render as they do with the full engine', () => {
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

test('values are escaped in HTML, subjects have no line ends, links lead to web or mail only', () => {
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

test('texts of ever new locales do not fill the memory', () => {
  for (let n = 0; n < 600; n++) compileTemplate(text({ locale: `de-${10_000 + n}`, html: '<p>a</p>' }))
  assert.ok(Number(queryObjects(Liquid, { format: 'count' })) < 300)
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
  test(`${what} is rejected or has no effect, in bounded time`, () => {
    const l = Array.from({ length: 100 }, (_, n) => n)
    let output: string | undefined
    try {
      output = compileTemplate(text({ body })).render({ name: 'x', l }).content.body
    } catch (error) {
      assert.equal((error as Error).name, 'TemplateError')
    }
    if (output !== undefined) assert.doesNotMatch(output, /root:|function|native code/)
  })

test('a locale is looked up from specific to general, and never an unrelated one', () => {
  const there = new Set(['zh-Hant', 'en', 'pt-BR'])
  assert.equal(lookUpLocale(['zh-Hant-TW', 'en'], there), 'zh-Hant')
  assert.equal(lookUpLocale(['de', 'en_US'], there), 'en')
  assert.equal(lookUpLocale(['pt'], there), undefined)
  assert.equal(lookUpLocale(['not a tag', 'fr'], there), undefined)
})

test('names are listed and counted by the rules of the locale', () => {
  const names = ['Ann', 'Bob', 'Chidi', 'Dana', 'Emre']
  assert.equal(listNames(names, 2, 'en'), 'Ann, Bob and 3 others')
  assert.equal(listNames(names.slice(0, 3), 2, 'en'), 'Ann, Bob and 1 other')
  assert.equal(listNames(names, 2, 'de'), 'Ann, Bob und 3 weitere')
  assert.equal(listNames(['Ann'], 2, 'en'), 'Ann')
})

test('an HTML mail has a text part, and an SMS has a number of segments', () => {
  assert.equal(
    textOfHtml('<h1>On its way</h1><p>See <a href="https://a.example">here</a> &amp; now</p>'),
    'On its way\nSee here (https://a.example) & now',
  )
  assert.deepEqual(smsSegments('a'.repeat(161)), { encoding: 'GSM-7', segments: 2 })
  assert.deepEqual(smsSegments('ü€'.repeat(54)), { encoding: 'GSM-7', segments: 2 })
  assert.deepEqual(smsSegments('🚲'.repeat(36)), { encoding: 'UCS-2', segments: 2 })
})
