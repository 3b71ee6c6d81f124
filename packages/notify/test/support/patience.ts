const patienceMs = 180_000
const pollMs = 50

/** Asks until the answer is as wanted, for as long as a cluster may take to have a leader and deliver again. */
export async function eventuallyOnCluster<T>(ask: () => Promise<T>, wanted: (answer: T) => boolean): Promise<T> {
  const giveUpAt = performance.now() + patienceMs
  for (;;) {
    const answer = await ask()
    if (wanted(answer)) return answer
    if (performance.now() > giveUpAt)
      throw new Error(`it never came to pass; the last answer: ${JSON.stringify(answer)}`)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
