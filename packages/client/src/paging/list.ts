import { GatehouseError } from '../errors/gatehouse-error.ts'

/** Reads the page at a cursor; the first one without. */
export type ReadPage<Page> = (cursor: string | undefined) => Promise<Page>

/** A page of a list. */
export interface ListPage<Item> {
  readonly items: readonly Item[]
  /** The cursor of the next page; undefined on the last one. */
  readonly next?: string
}

/**
 * A list that is read as it is needed: a promise of its first page, and an async iterable of the items of all pages.
 *
 * @example
 * ```ts
 * const { items, next } = await gatehouse.notifications.list({ user_id: 'alice' })
 * for await (const item of gatehouse.notifications.list({ user_id: 'alice' })) console.log(item.id)
 * const newest = await gatehouse.notifications.list().take(10)
 * ```
 */
export class List<Item, Page extends ListPage<Item> = ListPage<Item>>
  implements PromiseLike<Page>, AsyncIterable<Item>
{
  readonly #read: ReadPage<Page>
  #first: Promise<Page> | undefined

  /** Reads nothing until the list is awaited or iterated. */
  constructor(read: ReadPage<Page & ListPage<Item>>) {
    this.#read = read
  }

  /** The first page. */
  // biome-ignore lint/suspicious/noThenProperty: a list is a promise of its first page
  then<Result = Page, Failure = never>(
    onFulfilled?: ((page: Page) => Result | PromiseLike<Result>) | null,
    onRejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.#firstPage().then(onFulfilled, onRejected)
  }

  /** What follows a first page that could not be read. */
  catch<Failure>(onRejected: (reason: unknown) => Failure | PromiseLike<Failure>): Promise<Page | Failure> {
    return this.#firstPage().catch(onRejected)
  }

  /** What follows the first page in any case. */
  finally(onSettled: () => void): Promise<Page> {
    return this.#firstPage().finally(onSettled)
  }

  /** Every page, each read when the one before it was taken. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let page = await this.#firstPage()
    let cursor: string | undefined
    for (;;) {
      yield page
      const { next } = page
      if (next === undefined) return
      if (next === cursor) throw new GatehouseError('the next page is the same again', { code: 'invalid_response' })
      cursor = next
      page = await this.#read(cursor)
    }
  }

  /** At most so many items, of as many pages as they need. */
  async take(count: number): Promise<Item[]> {
    const items: Item[] = []
    if (count <= 0) return items
    for await (const page of this.pages()) {
      items.push(...page.items.slice(0, count - items.length))
      if (items.length >= count) break
    }
    return items
  }

  /** The items of all pages. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* page.items
  }

  #firstPage(): Promise<Page> {
    this.#first ??= this.#read(undefined)
    return this.#first
  }
}
