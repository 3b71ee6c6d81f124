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
