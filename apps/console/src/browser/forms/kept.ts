/*
 * What was typed into a form stays in the tab while the person signs in again, for a few minutes and for that person. It
 * is removed when it is read, at a sign-out, and once it is of no use to whoever is signed in. Secrets are left out.
 */

/** The storage of a tab. */
export type TabStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>

/** What is kept of a form. */
export interface KeptForm<Values> {
  readonly values: Values
  /** The version that is edited. */
  readonly etag?: string | undefined
}

interface Stored extends KeptForm<unknown> {
  readonly user: string
  readonly until: number
}

/** How long a sign-in may take, in milliseconds. */
const keptMs = 15 * 60_000
const prefix = 'gatehouse-form '
const keyOf = (name: string): string => `${prefix}${name}`

/** Where a form is kept, and for whom. */
export interface FormPlace {
  readonly storage: TabStorage
  readonly name: string
  readonly user: string
}

/** Keeps a form, without the values of the fields that are `secret`. */
export function keepForm<Values extends object>(
  { storage, name, user }: FormPlace,
  { values, etag }: KeptForm<Values>,
  { now, secret = [] }: { readonly now: number; readonly secret?: readonly (keyof Values)[] },
): void {
  const plain = Object.fromEntries(Object.entries(values).filter(([field]) => !secret.includes(field as keyof Values)))
  const stored: Stored = { user, until: now + keptMs, values: plain, etag }
  storage.setItem(keyOf(name), JSON.stringify(stored))
}

/** What was kept of a form; it is removed. Undefined for nothing, for another person's, and for what is too old. */
export function takeForm<Values extends object>(place: FormPlace, now: number): KeptForm<Partial<Values>> | undefined {
  const stored = readForm(place, now)
  place.storage.removeItem(keyOf(place.name))
  return stored && { values: stored.values as Partial<Values>, etag: stored.etag }
}

/** Whether a form was kept that can be filled in again. */
export function isKept(place: FormPlace, now: number): boolean {
  return readForm(place, now) !== undefined
}

/** Removes every form of a tab, for a sign-out. */
export function removeForms(storage: TabStorage): void {
  for (const key of keysOf(storage)) storage.removeItem(key)
}

/** Removes the forms of a tab that are too old or of somebody else than `user`. */
export function removeStaleForms(storage: TabStorage, user: string, now: number): void {
  for (const key of keysOf(storage))
    if (readForm({ storage, name: key.slice(prefix.length), user }, now) === undefined) storage.removeItem(key)
}

function keysOf(storage: TabStorage): readonly string[] {
  const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? '')
  return keys.filter((key) => key.startsWith(prefix))
}

function readForm({ storage, name, user }: FormPlace, now: number): Stored | undefined {
  try {
    const stored = JSON.parse(storage.getItem(keyOf(name)) ?? 'null') as Stored | null
    return stored !== null && stored.user === user && stored.until > now ? stored : undefined
  } catch {
    return undefined
  }
}
