package load

func (c *checker) checkNames() {}
