import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInstant } from '@gatehouse/kit'
import { type ApiDocument, joinDocuments } from '../../src/docs/document.ts'
import { precise } from '../../src/docs/schemas.ts'

test('an enumeration of texts says that it is one, wherever it stands', () => {
  const schema = { type: 'array', items: { enum: ['push', 'email'] } }
  assert.deepEqual(precise(schema), { type: 'array', items: { type: 'string', enum: ['push', 'email'] } })
  for (const other of [{ enum: [1, 2] }, { enum: ['a', null] }, { type: 'string', enum: ['a'] }])
    assert.deepEqual(precise(other), other)
})

test('a union of titled objects names the member that discriminates them', () => {
  const variant = (what: string) => ({ type: 'object', title: what, properties: { what: { const: what } } })
  const variants = [variant('Sent'), variant('Queued')]
  assert.deepEqual(precise({ anyOf: variants }), {
    oneOf: variants,
    discriminator: {
      propertyName: 'what',
      mapping: { Sent: '#/components/schemas/Sent', Queued: '#/components/schemas/Queued' },
    },
  })
  const [sent] = variants
  for (const other of [
    [sent, sent],
    [sent, { type: 'null' }],
    [sent, { ...variant('Queued'), title: undefined }],
  ])
    assert.deepEqual(precise({ anyOf: other }), { anyOf: other })
})

test('a date-time has the years that the server takes', () => {
  const { pattern } = precise({ type: 'string', format: 'date-time', pattern: undefined as string | undefined })
  for (const year of ['1969', '1970', '1999', '2000', '2026', '9999'])
    assert.equal(new RegExp(pattern ?? '').test(`${year}-06-15T12:00:00Z`), isInstant(`${year}-06-15T12:00:00Z`), year)
})

test('a joined document declares the tags and keeps the components that its operations need', () => {
  const of = (path: string, tag: string, schema: string): ApiDocument => ({
    info: { title: 't', version: '1' },
    paths: {
      [path]: {
        get: {
          tags: [tag],
          security: [{ [`${tag}Scheme`]: [] }],
          responses: { 200: { description: 'd', content: { $ref: `#/components/schemas/${schema}` } } },
        },
      },
    },
    components: {
      schemas: { [schema]: { items: { $ref: '#/components/schemas/Inner' } }, Inner: {}, Unused: {} },
      securitySchemes: { [`${tag}Scheme`]: {}, other: {} },
    },
  })
  const { tags = [], components } = joinDocuments(of('/a', 'token', 'A'), [of('/b', 'inbox', 'B')])
  assert.deepEqual(
    tags.map(({ name }) => name),
    ['inbox', 'token'],
  )
  assert.deepEqual(Object.keys(components?.schemas ?? {}).sort(), ['A', 'B', 'Inner'])
  assert.deepEqual(Object.keys(components?.securitySchemes ?? {}).sort(), ['inboxScheme', 'tokenScheme'])
})
