import assert from 'node:assert/strict'
import { test } from 'node:test'
import { smsSegments, textOfHtml } from '../../src/templates/message-text.ts'
import { compileTemplate, TemplateError } from '../../src/templates/template.ts'

const text = (of: object) => ({ templateId: 't', channel: 'email', locale: 'en', version: 1, body: '', ...of }) as const

/** Holds the thread without work, as a machine does that has too much of it. */
function stall(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

test('a text renders on a machine that stalls, and one that takes too much work does not', () => {
  let reads = 0
  const slow = {
    get name() {
      if (++reads === 1) stall(150)
      return 'Ann'
    },
  }
  const compiled = compileTemplate(text({ body: '{% if name %}Hello {{ name }}{% endif %}' }))
  assert.equal(compiled.render(slow).content.body, 'Hello Ann')
  assert.ok(reads > 2, 'it was rendered again')
  const busy = compileTemplate(text({ body: '{% for i in (1..900000) %}{% assign x = i %}{% endfor %}' }))
  assert.throws(() => busy.render({}), TemplateError)
})

test('an HTML text that outputs raw values does not parse; other texts do', () => {
  assert.throws(() => compileTemplate(text({ html: '{{ name | raw }}' })), /undefined filter: raw/)
  assert.equal(compileTemplate(text({ body: '{{ name | raw }}' })).render({ name: '<b>' }).content.body, '<b>')
})

test('a filter that would write out a list for each item of another fails; by a name it works', () => {
  const rows = [{ n: 2, kind: 'a' }, { n: 3 }]
  for (const filter of [
    'map',
    'sum',
    'where',
    'reject',
    'group_by',
    'has',
    'find',
    'find_index',
    'sort',
    'sort_natural',
  ]) {
    const compiled = compileTemplate(text({ body: `{{ rows | ${filter}: names }}` }))
    assert.throws(() => compiled.render({ rows, names: ['n'] }), /the property of \w+ must be a name/, filter)
    compiled.render({ rows, names: 'n' })
  }
  const named = compileTemplate(text({ body: '{{ rows | sum: "n" }} {{ rows | where: "kind", "a" | map: "n" }}' }))
  assert.equal(named.render({ rows }).content.body, '5 2')
})

test('a text has at most 1,000 tags and outputs', () => {
  assert.equal(compileTemplate(text({ body: '{{a}}'.repeat(1_000) })).variables.length, 1)
  assert.throws(() => compileTemplate(text({ body: '{{a}}'.repeat(1_001) })), /more than 1000 tags and outputs/)
})

test('a text that cuts a character in half, or makes a NUL, renders to what a database stores', () => {
  const initial = '{{ name | split: "" | first }}'
  const { content } = compileTemplate(text({ subject: `Hi ${initial}`, body: initial, html: initial })).render({
    name: '\u{1f600}nn',
  })
  assert.deepEqual([content.subject, content.body, content.html], ['Hi \ufffd', '\ufffd', '\ufffd'])
  const decoded = compileTemplate(text({ body: 'a', html: 'a{{ x | url_decode }}b' })).render({ x: '%00' })
  assert.equal(decoded.content.html, 'a\ufffdb')
})

test('an SMS is counted as it is split, and a surrogate pair is never split', () => {
  const cases = [
    ['', 'GSM-7', 1],
    ['a'.repeat(160), 'GSM-7', 1],
    ['a'.repeat(161), 'GSM-7', 2],
    ['a'.repeat(306), 'GSM-7', 2],
    ['a'.repeat(307), 'GSM-7', 3],
    ['€'.repeat(80), 'GSM-7', 1],
    [`${'a'.repeat(152)}€${'a'.repeat(152)}`, 'GSM-7', 3],
    ['ł'.repeat(70), 'UCS-2', 1],
    ['ł'.repeat(71), 'UCS-2', 2],
    ['ł'.repeat(134), 'UCS-2', 2],
    [`${'ł'.repeat(66)}🚲${'ł'.repeat(66)}`, 'UCS-2', 3],
  ] as const
  for (const [body, encoding, segments] of cases)
    assert.deepEqual(smsSegments(body), { encoding, segments }, `${body.slice(0, 3)}… of ${body.length}`)
})

test('the text part of an HTML mail decodes entities', () => {
  assert.equal(
    textOfHtml('<p>9 &#8364; &#x2014; &lt;b&gt; &amp;lt; &#39;&#34; &#0; &#xD800; &unknown;</p>'),
    '9 € — <b> &lt; \'" &#0; &#xD800; &unknown;',
  )
})
