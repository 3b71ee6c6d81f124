import { type InfiniteData, replaceEqualDeep } from '@tanstack/react-query'

/**
 * A page that is still there stays the object that it was, also where the first one made room and its place is another:
 * its rows are not drawn again. What was read again is compared.
 */
export function keepPages(before: unknown, next: unknown): unknown {
  const pagesOf = (data: unknown) => (data as InfiniteData<object> | undefined)?.pages ?? []
  const isKept = pagesOf(next).some((page) => pagesOf(before).includes(page))
  return isKept ? next : replaceEqualDeep(before, next)
}
