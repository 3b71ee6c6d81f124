import { Problem } from '@gatehouse/kit'

/**
 * Checks the If-Match of a caller who sees a resource masked, and so gets no entity tag: guesses of what is masked could
 * be compared with that.
 *
 * @throws Problem 412 for every tag, whether it is that of the resource or not
 */
export function refuseTags(ifMatch: string | undefined): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return
  throw new Problem(412, 'Callers who see it masked get no entity tag of it: If-Match must be * or left out.')
}

/** The 412 of such a caller whose change met that of another request. */
export function changedMeanwhile(): Problem {
  return new Problem(412, 'Another request changed it at the same time. Send the request again.')
}
