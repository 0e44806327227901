/// A member that gets a product for others, too, as the ``RequestCoalescer`` sees it.
protocol CoalescedMember: AnyObject, Sendable {
    var id: UInt64 { get }
    /// The highest level among those who wait; zero for none. Any thread.
    ///
    /// - Returns: false where it was that already.
    func setFollowersLevel(_ level: UInt8) -> Bool
    /// The last of the others has left. A member that went on for them alone ends. Any thread.
    func followersHaveGone()
}
