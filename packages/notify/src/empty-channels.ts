import { Problem } from '@gatehouse/kit'

/** 422 for a `channels` that names none: leaving it out says "as preferred", an empty one says nothing useful. */
export function problemIfEmpty(channels: readonly unknown[] | undefined, pointer: string = '/channels'): void {
  if (channels === undefined || channels.length > 0) return
  const detail = 'must name at least one channel; leave it out to follow the preferences'
  throw new Problem(422, `The member ${pointer} ${detail}.`, { errors: [{ pointer, detail }] })
}
