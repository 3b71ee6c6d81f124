import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileTemplate, TemplateError } from '../src/template.ts'

const text = (of: object) => ({ templateId: 't', channel: 'email', locale: 'en', version: 1, body: '', ...of }) as const

/** Holds the thread without work, as a machine does that has too much of it. */
function stall(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

test('a text is rendered on a machine that stalls meanwhile, and a text that takes too much work is not', () => {
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

test('a text of HTML that asks for a value as it is does not parse; other texts may', () => {
  assert.throws(() => compileTemplate(text({ html: '{{ name | raw }}' })), /undefined filter: raw/)
  assert.equal(compileTemplate(text({ body: '{{ name | raw }}' })).render({ name: '<b>' }).content.body, '<b>')
})
