import { type TSchema, Type } from 'typebox'

/** The number of items of a page when the request names none. */
export const defaultPageSize = 50

/** The maximum number of items of a page. */
export const maxPageSize = 200

/** The cursor of a request: any text that a list returned. */
const anyCursor = Type.String({ minLength: 1, maxLength: 1024, description: 'The `next` of the previous page.' })

/**
 * The members of a request for a page, in its query or its body: `cursor` and `limit`.
 *
 * @param cursor the schema of the cursor, where it has a form that can be checked
 */
export function pageMembers<Cursor extends TSchema = typeof anyCursor>(cursor?: Cursor) {
  return {
    cursor: Type.Optional(cursor ?? anyCursor),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxPageSize,
        default: defaultPageSize,
        description: 'The maximum number of items on a page.',
      }),
    ),
  }
}

/** The query of a list without filters. */
export const PageQuery = Type.Object(pageMembers(), { additionalProperties: false })

/** The query of a list without filters whose items have ids that follow time (UUIDv7): the newest is first. */
export const PageQueryById = Type.Object(
  pageMembers(Type.String({ format: 'uuid', description: 'The `next` of the previous page.' })),
  { additionalProperties: false },
)

/** The response of every list: a page of items and, unless it is the last page, the cursor of the next one. */
export function pageSchema<Item extends TSchema>(item: Item) {
  return Type.Object({ items: Type.Array(item), next })
}

const next = Type.Optional(
  Type.String({ description: 'The cursor of the next page. Without it there are no more items.' }),
)

/** What a request says about its page. */
export interface PageRequest {
  readonly cursor?: string
  readonly limit?: number
}

/** A page of a list. */
export interface Page<Item> {
  readonly items: Item[]
  readonly next?: string
}

/**
 * Returns a page of the items that were read for it. A full page has a cursor, even if nothing follows.
 *
 * @param cursorOf the cursor behind an item
 */
export function createPage<Item>(
  items: readonly Item[],
  { limit = defaultPageSize }: PageRequest,
  cursorOf: (item: Item) => string,
): Page<Item> {
  const last = items.at(-1)
  return { items: [...items], ...(items.length >= limit && last !== undefined ? { next: cursorOf(last) } : {}) }
}

/**
 * Selects a page of a list that is small enough to be read whole. The order is that of the keys, by code units, so a page
 * continues where the previous one ended, whatever was added or removed meanwhile.
 *
 * @param keyOf a key that no other item has; it is the cursor behind its item
 * @param order `descending` where keys begin with a time, so that the newest item is first
 */
export function selectPage<Item>(
  all: readonly Item[],
  { cursor, limit = defaultPageSize }: PageRequest,
  keyOf: (item: Item) => string,
  order: 'ascending' | 'descending' = 'ascending',
): Page<Item> {
  const sign = order === 'ascending' ? 1 : -1
  const compare = (a: string, b: string) => (a === b ? 0 : a < b ? -sign : sign)
  const rest = all
    .map((item) => ({ item, key: keyOf(item) }))
    .filter(({ key }) => cursor === undefined || compare(key, cursor) > 0)
    .sort((a, b) => compare(a.key, b.key))
  const items = rest.slice(0, limit)
  const last = items.at(-1)
  return {
    items: items.map(({ item }) => item),
    ...(last !== undefined && rest.length > items.length ? { next: last.key } : {}),
  }
}
