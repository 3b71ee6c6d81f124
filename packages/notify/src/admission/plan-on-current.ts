import { UserErased } from './admission.ts'

/** An erasure takes a moment each; as many in a row, just between reading and writing, don't happen. */
const maxAttempts = 5

/** Plans and admits on profiles, and once more on fresh ones where a user was erased in between. */
export async function admitOnFreshProfiles<Profiles, Result>(
  read: () => Promise<Profiles>,
  first: Profiles,
  admit: (profiles: Profiles) => Promise<Result>,
): Promise<Result> {
  let profiles = first
  for (let attempts = 1; ; attempts++) {
    try {
      return await admit(profiles)
    } catch (error) {
      if (attempts >= maxAttempts || !(error instanceof UserErased)) throw error
      profiles = await read()
    }
  }
}
